//! Variables by which language runtimes name their functions: what to add to a command's environment.
//! `culprit_report` reads what the recording says about it.
//!
//! ```text
//! environment of the place      NODE_OPTIONS=--max-old-space-size=64
//! added for the command         NODE_OPTIONS=--max-old-space-size=64 --perf-basic-prof ...
//! fact of the recording         runtime-help.node = set NODE_OPTIONS=--perf-basic-prof ...
//! ```
//!
//! What the user has set stays, and wins: an option that the user sets, on or off, is not added.

use std::ffi::{OsStr, OsString};

use culprit_model::{Ask, RUNTIMES, Runtime, is_same_option};
use culprit_record::HelpedRuntime;

/// What is set for the runtimes that a command may start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RuntimeHelp {
    /// Variables of the command, whole values.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The runtimes that write their files because of that.
    pub(crate) helped: Vec<HelpedRuntime>,
    /// What the recording says about it: name and value.
    pub(crate) facts: Vec<(String, String)>,
}

impl RuntimeHelp {
    /// What to add to a command that would begin with this environment, in a place where it can make
    /// files in `/tmp` and its working folder or not.
    pub(crate) fn new(environment: &[(OsString, OsString)], writes_files: bool) -> Self {
        let mut help = Self::default();
        for runtime in RUNTIMES {
            if runtime.needs_files && !writes_files {
                let why = "commands cannot write to /tmp or to their working folder in this place";
                help.fact(runtime, format!("{}{why}", Runtime::NOT_SET));
                continue;
            }
            match added(runtime, environment) {
                Ok(added) => help.add(runtime, added),
                Err(why) => help.fact(runtime, format!("{}{why}", Runtime::NOT_SET)),
            }
        }
        help
    }

    /// Nothing is set, and why.
    pub(crate) fn off(why: &str) -> Self {
        let mut help = Self::default();
        for runtime in RUNTIMES {
            help.fact(runtime, format!("{}{why}", Runtime::NOT_SET));
        }
        help
    }

    fn add(&mut self, runtime: &'static Runtime, added: Vec<Added>) {
        let ours: Vec<&str> = added.iter().map(|variable| variable.ours.as_str()).collect();
        self.fact(runtime, format!("{}{}", Runtime::SET, ours.join(" ")));
        if let Some(first) = added.first().filter(|first| first.whole) {
            let variable = (first.name.into(), first.value.clone());
            self.helped.push(HelpedRuntime { runtime, variable });
        }
        self.variables.extend(added.into_iter().map(|new| (new.name.into(), new.value)));
    }

    fn fact(&mut self, runtime: &Runtime, value: String) {
        self.facts.push((runtime.fact(), value));
    }
}

/// A variable as it is set.
#[derive(Debug)]
struct Added {
    name: &'static str,
    /// Its value: the user's, then ours.
    value: OsString,
    /// Our part, `NAME=VALUE`.
    ours: String,
    /// Nothing of what is asked for was the user's already, so what comes of it comes of us.
    whole: bool,
}

/// The variables of a runtime, or why none is set.
fn added(runtime: &Runtime, environment: &[(OsString, OsString)]) -> Result<Vec<Added>, String> {
    let known = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    };
    let mut all = Vec::new();
    for variable in runtime.variables {
        let name = variable.name;
        let one = match (variable.ask, known(name)) {
            (Ask::Options(options), known) => with_options(name, options, known)?,
            (Ask::Value(value), None) => {
                let ours = format!("{name}={value}");
                Added { name, value: value.into(), ours, whole: true }
            }
            (Ask::Value(_), Some(known)) => {
                return Err(format!("{name}={} was set already", known.to_string_lossy()));
            }
        };
        all.push(one);
    }
    Ok(all)
}

/// The user's options, then those of ours that the user has not set, on or off.
fn with_options(
    name: &'static str,
    options: &[&str],
    known: Option<&OsStr>,
) -> Result<Added, String> {
    let text = known.unwrap_or_default().to_string_lossy();
    let is_set = |option: &str| text.split_whitespace().any(|set| is_same_option(set, option));
    let missing = options.iter().filter(|option| !is_set(option));
    let missing: Vec<&str> = missing.copied().collect();
    if missing.is_empty() {
        return Err(format!("{name} has these options already"));
    }
    let ours = missing.join(" ");
    let mut value = known.map(OsStr::to_owned).unwrap_or_default();
    if !value.is_empty() {
        value.push(" ");
    }
    value.push(&ours);
    let whole = missing.len() == options.len();
    Ok(Added { name, value, ours: format!("{name}={ours}"), whole })
}

#[cfg(test)]
mod tests {
    use culprit_model::SeenRuntime;

    use super::*;

    fn help(environment: &[(&str, &str)]) -> RuntimeHelp {
        let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
        RuntimeHelp::new(&environment.iter().map(pair).collect::<Vec<_>>(), true)
    }

    fn value(help: &RuntimeHelp, name: &str) -> Option<String> {
        let found = help.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.to_str().unwrap().to_owned())
    }

    fn helped(help: &RuntimeHelp) -> Vec<&str> {
        help.helped.iter().map(|helped| helped.runtime.id).collect()
    }

    const NODE: &str = "--perf-basic-prof --interpreted-frames-native-stack";

    #[test]
    fn an_empty_environment_gets_all() {
        let help = help(&[("PATH", "/bin"), ("NODE_OPTIONS", "")]);
        assert_eq!(value(&help, "NODE_OPTIONS").unwrap(), NODE);
        assert!(value(&help, "JAVA_TOOL_OPTIONS").unwrap().contains("+DumpPerfMapAtExit"));
        assert_eq!(value(&help, "COMPlus_PerfMapEnabled").unwrap(), "3");
        assert_eq!(value(&help, "PATH"), None);
        assert_eq!(helped(&help), ["node", "jvm", "dotnet"]);
        assert_eq!(help.facts[0], ("runtime-help.node".into(), format!("set NODE_OPTIONS={NODE}")));
    }

    #[test]
    fn a_runtime_that_would_suffer_without_its_files_is_left_alone() {
        let help = RuntimeHelp::new(&[], false);
        assert_eq!(value(&help, "NODE_OPTIONS"), None);
        assert!(help.facts[0].1.starts_with("not set: commands cannot write to /tmp"));
        assert_eq!(helped(&help), ["jvm", "dotnet"]);
    }

    #[test]
    fn what_the_user_has_set_stays_before_ours() {
        let help = help(&[("NODE_OPTIONS", "--require ./a.js"), ("JAVA_TOOL_OPTIONS", "-Xmx1g")]);
        assert_eq!(value(&help, "NODE_OPTIONS").unwrap(), format!("--require ./a.js {NODE}"));
        assert!(value(&help, "JAVA_TOOL_OPTIONS").unwrap().starts_with("-Xmx1g -XX:+Ignore"));
        assert!(
            !help.facts.iter().any(|(_, value)| value.contains("-Xmx1g")),
            "only ours is recorded"
        );
    }

    #[test]
    fn an_option_that_the_user_sets_is_the_users() {
        let help = help(&[("JAVA_TOOL_OPTIONS", "-XX:-PreserveFramePointer")]);
        let java = value(&help, "JAVA_TOOL_OPTIONS").unwrap();
        assert!(!java.contains("+PreserveFramePointer"), "{java}");
        assert!(java.contains("+DumpPerfMapAtExit"), "{java}");
        assert_eq!(helped(&help), ["node", "dotnet"], "a part of it is the user's");
        let all = RuntimeHelp::new(&[("NODE_OPTIONS".into(), NODE.into())], true);
        assert_eq!(value(&all, "NODE_OPTIONS"), None);
        assert_eq!(all.facts[0].1, "not set: NODE_OPTIONS has these options already");
    }

    #[test]
    fn an_option_may_be_written_with_underscores() {
        let help = help(&[("NODE_OPTIONS", "--perf_basic_prof")]);
        let node = value(&help, "NODE_OPTIONS").unwrap();
        assert_eq!(node, "--perf_basic_prof --interpreted-frames-native-stack");
        assert_eq!(helped(&help), ["jvm", "dotnet"]);
    }

    #[test]
    fn a_switch_that_is_set_is_left_with_its_twin() {
        for (name, value_set) in [("DOTNET_PerfMapEnabled", "0"), ("COMPlus_PerfMapEnabled", "1")] {
            let help = help(&[(name, value_set)]);
            assert_eq!(value(&help, "DOTNET_PerfMapEnabled"), None);
            assert_eq!(value(&help, "COMPlus_PerfMapEnabled"), None);
            assert_eq!(help.facts[2].1, format!("not set: {name}={value_set} was set already"));
        }
    }

    #[test]
    fn only_runtimes_that_ran_are_reported() {
        let mut recording = crate::testing::recording();
        recording.meta.place_facts.extend(help(&[]).facts);
        assert_eq!(SeenRuntime::all(&recording), []);
        let mut row = recording.modules[0].clone();
        row.name = "libjvm.so".into();
        recording.modules.push(row);
        let seen = SeenRuntime::all(&recording);
        assert_eq!(seen.len(), 1);
        assert!(
            seen[0].line().starts_with("Culprit set JAVA_TOOL_OPTIONS so that JVM "),
            "{seen:?}"
        );
        assert!(seen[0].printed().unwrap().contains("Picked up"));
        recording.meta.place_facts = RuntimeHelp::off("`--no-runtime-help` was given").facts;
        let off = &SeenRuntime::all(&recording)[0];
        assert!(off.line().contains("--no-runtime-help"), "{}", off.line());
        assert_eq!(off.printed(), None);
    }
}
