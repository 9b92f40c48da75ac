//! Arguments of `config prove`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::places::FORMS;

/// Whether runtimes are asked by their own means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RuntimeProbes {
    /// Where Culprit knows a way.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Arguments of `config prove`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigProveArgs {
    /// Variables whose values are watched [default: the first ones that no login sets]
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        long_help = "Variables whose values are watched\n\nThe processor watches four addresses at a time: three variables and the decoy. More variables need more runs of the command: `--rounds`. Without this option Culprit takes the variables that the shell has set, without those of every login (PATH, HOME, LANG, ...).\n\nNames that the program asks for are seen in each run, for all variables."
    )]
    pub vars: Vec<String>,
    /// Run the command at most N times, to watch other variables each time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,
    /// Add no decoy: one more variable is watched, and no value counts as read
    #[arg(
        long,
        long_help = "Add no decoy\n\nThe decoy is a variable with a random name that no program knows. A call that touches its value copies all variables, and says nothing about any other. Without it, Culprit cannot tell a copy from a read: the strongest grade is then `name_probed`, and no variable is reported as unread."
    )]
    pub no_decoy: bool,
    /// Ask language runtimes by their own means
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        long_help = "Ask language runtimes by their own means\n\nauto: Python and Java load a hook that reports what `os.environ` and `System.getenv` are asked for. The hooks lie in Culprit's memory, and PYTHONPATH and JAVA_TOOL_OPTIONS lead to them. Probes in Go programs and in Node.js need no change of the program.\n\noff: nothing is added to the command's environment but the decoy and its spacers."
    )]
    pub runtime: RuntimeProbes,
    /// Run the command again with another value, and compare what it puts out
    #[arg(
        long,
        value_name = "VAR=VALUE",
        value_parser = flip,
        conflicts_with_all = ["pid", "container"],
        long_help = "Run the command again with another value, and compare what it puts out\n\nThe command runs twice as it is and once with the value. If only the third run differs in its output or exit code, the variable has an effect: grade `effective_dump`. If the first two differ, the comparison proves nothing, and Culprit says so."
    )]
    pub flip: Vec<(String, String)>,
    /// Write the result to FILE as JSON, for `config vars --observed FILE`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also list files, variables that are only present, and names that libraries ask for
    #[arg(long)]
    pub all: bool,
    /// Stop observing after this many seconds
    #[arg(short, long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    pub duration: Option<u64>,
    /// Run the command in this place
    #[arg(long, value_name = "P", long_help = format!("Run the command in this place\n\n{FORMS}"), conflicts_with_all = ["pid", "container"])]
    pub place: Option<String>,
    /// Observe a running process and its children: only later reads are seen
    #[arg(long, value_name = "N", conflicts_with_all = ["container", "command"])]
    pub pid: Option<u32>,
    /// Observe the processes of a running container: only later reads are seen
    #[arg(long, value_name = "ID", conflicts_with = "command")]
    pub container: Option<String>,
    /// The command and its arguments. What it writes to stdout goes to stderr
    #[arg(last = true, value_name = "CMD", required_unless_present_any = ["pid", "container"])]
    pub command: Vec<String>,
}

/// `VAR=VALUE`
fn flip(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write `VAR=VALUE`")?;
    if name.is_empty() {
        return Err("the name before `=` is missing".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flip_has_a_name_and_a_value() {
        assert_eq!(flip("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(flip("A="), Ok(("A".to_owned(), String::new())));
        assert!(flip("A").is_err() && flip("=b").is_err());
    }
}
