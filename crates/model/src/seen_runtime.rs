//! The language runtimes that ran in a recording, and by which variables they were asked to name their functions.

use crate::{RUNTIMES, Recording, Runtime};

/// What a recording says about the runtimes that ran in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRuntime {
    /// Which runtime.
    pub runtime: &'static Runtime,
    /// What was set for it, `NAME=VALUE`; else why nothing was.
    pub set: Result<String, String>,
}

impl SeenRuntime {
    /// Those of a recording whose recorder could have set something, in the order of the table.
    #[must_use]
    pub fn all(recording: &Recording) -> Vec<Self> {
        let ran = |runtime: &Runtime| {
            let of = |name: &str| Runtime::of_module(name).is_some_and(|r| r.id == runtime.id);
            recording.modules.iter().any(|module| of(&module.name))
        };
        let seen = RUNTIMES.iter().filter(|runtime| ran(runtime));
        let seen_runtime = |runtime: &'static Runtime| {
            let set = runtime.set_in(&recording.meta)?;
            Some(Self { runtime, set: set.map(str::to_owned).map_err(str::to_owned) })
        };
        seen.filter_map(seen_runtime).collect()
    }

    /// One line for a report.
    #[must_use]
    pub fn line(&self) -> String {
        let name = self.runtime.name;
        match &self.set {
            Ok(_) => {
                let variables = self.runtime.variables.iter().map(|variable| variable.name);
                let variables = variables.collect::<Vec<_>>().join(" and ");
                format!(
                    "Culprit set {variables} so that {name} functions have names; \
                     `--no-runtime-help` leaves it off."
                )
            }
            Err(why) => format!("Culprit set no variable for {name}: {why}."),
        }
    }

    /// Why the runtime prints a line that the user did not ask for; none where it prints nothing.
    #[must_use]
    pub fn printed(&self) -> Option<String> {
        (self.runtime.id == "jvm" && self.set.is_ok()).then(|| {
            "The JVM printed `Picked up JAVA_TOOL_OPTIONS` because Culprit set this variable to get \
             function names; `--no-runtime-help` leaves it off"
                .to_owned()
        })
    }
}
