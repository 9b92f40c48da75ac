//! Language runtimes whose generated code gets its names from a file that the runtime writes, once a
//! variable of its environment asks for it.
//!
//! One row a runtime: how it is recognised among the modules of a process, which variables it reads,
//! and which files it then writes. The command line sets the variables, the recorder reads the files,
//! the report says what was set: all three from this table.

use crate::meta::Meta;

/// A language runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// Its stable name: `node`, `jvm`, `dotnet`.
    pub id: &'static str,
    /// What it is called in sentences.
    pub name: &'static str,
    /// Base names of the program or library that it is, or of the memory that it maps; a `*` at the end
    /// stands for any text.
    pub modules: &'static [&'static str],
    /// What it reads from its environment. They belong together: where the user has set one
    /// [`Ask::Value`], none is set.
    pub variables: &'static [RuntimeVariable],
    /// The files that it then writes into `/tmp`; `PID` stands for its own process number there.
    pub files: &'static [&'static str],
    /// Files without names that it then writes into its working folder; `*` stands for any text.
    pub logs: &'static [&'static str],
    /// Whether the program suffers when it cannot make its files.
    pub needs_files: bool,
    /// When the names are in the file.
    pub writes: WrittenWhen,
}

/// When a runtime writes its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenWhen {
    /// As soon as it generates code.
    AtOnce,
    /// When it ends by itself; a runtime that is killed writes none.
    AtExit,
}

/// A variable that makes a runtime write names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeVariable {
    /// Its name.
    pub name: &'static str,
    /// What is put into it.
    pub ask: Ask,
}

/// What is put into a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Options, added behind those that the user has set.
    Options(&'static [&'static str]),
    /// The whole value; a value that the user has set stays.
    Value(&'static str),
}

/// Every such runtime. Sources: Node.js `doc/api/cli.md` (NODE_OPTIONS); OpenJDK
/// `globals.hpp` and the JVM Tool Interface (JAVA_TOOL_OPTIONS); .NET `clrconfignames.h`.
pub const RUNTIMES: &[Runtime] = &[
    Runtime {
        id: "node",
        name: "Node.js",
        modules: &["node", "nodejs", "libnode.so*"],
        variables: &[RuntimeVariable {
            name: "NODE_OPTIONS",
            ask: Ask::Options(&["--perf-basic-prof", "--interpreted-frames-native-stack"]),
        }],
        files: &["perf-PID.map"],
        logs: &["isolate-*-PID-v8.log"],
        // Without its map it ends (`CHECK_NOT_NULL(perf_output_handle_)` in V8's `src/logging/log.cc`),
        // without its log it writes that to stdout (`LogFile` in `src/logging/log-file.cc`).
        needs_files: true,
        writes: WrittenWhen::AtOnce,
    },
    Runtime {
        id: "jvm",
        name: "JVM",
        modules: &["libjvm.so"],
        variables: &[RuntimeVariable {
            name: "JAVA_TOOL_OPTIONS",
            ask: Ask::Options(&[
                // `DumpPerfMapAtExit` exists since JDK 17; an older JVM would not start without this.
                "-XX:+IgnoreUnrecognizedVMOptions",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:+PreserveFramePointer",
                // Compiled code has a line for each instruction, not only where it can stop.
                "-XX:+DebugNonSafepoints",
                "-XX:+DumpPerfMapAtExit",
            ]),
        }],
        files: &["perf-PID.map"],
        logs: &[],
        needs_files: false,
        writes: WrittenWhen::AtExit,
    },
    Runtime {
        id: "dotnet",
        name: ".NET",
        // The second is the memory that it generates code in, since .NET 7: a program in one file has no
        // library.
        modules: &["libcoreclr.so", "doublemapper"],
        // 3 is the map alone; 1, and any number before .NET 8, also writes all code into a dump (`PerfMap` in
        // coreclr's `vm/perfmap.h`), which costs time and says nothing that the map does not.
        variables: &[
            RuntimeVariable { name: "DOTNET_PerfMapEnabled", ask: Ask::Value("3") },
            // What .NET before version 6 reads.
            RuntimeVariable { name: "COMPlus_PerfMapEnabled", ask: Ask::Value("3") },
        ],
        files: &["perf-PID.map", "perfinfo-PID.map", "jit-PID.dump"],
        logs: &[],
        needs_files: false,
        writes: WrittenWhen::AtOnce,
    },
];

impl Runtime {
    /// The runtime that a module is the program or library of, by the module's base name.
    #[must_use]
    pub fn of_module(base_name: &str) -> Option<&'static Self> {
        RUNTIMES.iter().find(|runtime| runtime.modules.iter().any(|m| is_named(base_name, m)))
    }

    /// Whether a word is one of the options that it is asked by.
    #[must_use]
    pub fn is_asked_by(&self, word: &str) -> bool {
        self.variables.iter().any(|variable| match variable.ask {
            Ask::Options(options) => options.iter().any(|option| is_same_option(option, word)),
            Ask::Value(_) => false,
        })
    }

    /// The start of the names of the facts that a recording keeps about runtimes.
    pub const FACT: &'static str = "runtime-help";

    /// How the value of such a fact begins where variables were set; they follow.
    pub const SET: &str = "set ";

    /// How it begins where none was set; the reason follows.
    pub const NOT_SET: &str = "not set: ";

    /// The name of the fact that a recording keeps about this runtime: what was set for it.
    #[must_use]
    pub fn fact(&self) -> String {
        format!("{}.{}", Self::FACT, self.id)
    }

    /// What the recorder has set for this runtime, or why it has set nothing; none where the recording
    /// says neither.
    #[must_use]
    pub fn set_in<'a>(&self, meta: &'a Meta) -> Option<Result<&'a str, &'a str>> {
        let name = self.fact();
        let (_, value) = meta.place_facts.iter().find(|(known, _)| *known == name)?;
        let not_set = || value.strip_prefix(Self::NOT_SET).unwrap_or(value);
        Some(value.strip_prefix(Self::SET).ok_or_else(not_set))
    }
}

fn is_named(base_name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => base_name.starts_with(start),
        None => base_name == pattern,
    }
}

/// Whether two options switch the same thing, on or off, to whatever value. Node.js takes `_` for `-`.
#[must_use]
pub fn is_same_option(one: &str, other: &str) -> bool {
    let letters = |option| subject(option).bytes().map(|b| if b == b'_' { b'-' } else { b });
    letters(one).eq(letters(other))
}

/// An option without its value and the sign that switches it on or off.
fn subject(option: &str) -> &str {
    let option = option.split('=').next().unwrap_or(option);
    let switch = option.strip_prefix("-XX:").and_then(|o| o.strip_prefix(['+', '-']));
    let long = || option.strip_prefix("--").map(|o| o.strip_prefix("no-").unwrap_or(o));
    switch.or_else(long).unwrap_or(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_recognised_by_the_file_that_they_are() {
        let id = |name| Runtime::of_module(name).map(|runtime| runtime.id);
        for (name, expected) in [
            ("node", Some("node")),
            ("libnode.so.108", Some("node")),
            ("libjvm.so", Some("jvm")),
            ("libcoreclr.so", Some("dotnet")),
            ("doublemapper", Some("dotnet")),
            ("nodejs-helper", None),
            ("java", None),
        ] {
            assert_eq!(id(name), expected, "{name}");
        }
    }

    #[test]
    fn a_recording_says_what_was_set_or_why_not() {
        let fact = |value: &str| Meta {
            place_facts: vec![("runtime-help.node".to_owned(), value.to_owned())],
            ..Meta::default()
        };
        let node = &RUNTIMES[0];
        assert_eq!(node.set_in(&fact("set A=1")), Some(Ok("A=1")));
        assert_eq!(node.set_in(&fact("not set: no")), Some(Err("no")));
        assert_eq!(node.set_in(&Meta::default()), None);
        assert_eq!(RUNTIMES[1].set_in(&fact("set A=1")), None);
    }

    #[test]
    fn an_option_is_about_the_same_switched_on_or_off() {
        for (one, other) in [
            ("-XX:+PreserveFramePointer", "-XX:-PreserveFramePointer"),
            ("--perf-basic-prof", "--no-perf-basic-prof"),
            ("--perf-basic-prof", "--perf-basic-prof=true"),
            ("--perf-basic-prof", "--perf_basic_prof"),
        ] {
            assert!(is_same_option(one, other), "{other}");
        }
        assert!(!is_same_option("--perf-prof", "--perf-basic-prof"));
    }
}
