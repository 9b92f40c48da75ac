//! Presets: named groups and folds, so that nobody has to know the pattern language for the usual
//! questions.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{FrameId, ModuleId, Recording};

use super::pattern::quoted;
use crate::own::{CodeOrigin, OwnCode};

/// A named choice of groups and folds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preset {
    /// What it is called on the command line.
    pub name: String,
    /// What it shows.
    pub meaning: String,
    /// Group patterns.
    pub group: String,
    /// Fold patterns.
    pub fold: String,
    /// Fold percentage.
    pub fold_pct: Option<f64>,
}

/// The preset whose groups depend on the recording, see [`my_app`].
pub const MY_APP: &str = "my-app";

/// Name, meaning and groups of each preset that everybody has.
const STOCK: [(&str, &str, &str); 8] = [
    ("modules", "each module as one frame", "{%}!->module $1"),
    ("module-entries", "each module by the functions that it is entered at", "{%}!=>module $1"),
    (
        "full-path",
        "as module-entries, modules with their whole paths",
        "{/*}!=>module $1;{%}!=>module $1",
    ),
    ("classes", "each class or namespace as one frame", "{%!*}.%(->class $1;{%!*}::->class $1"),
    (
        "class-entries",
        "each class or namespace by the functions that it is entered at",
        "{%!*}.%(=>class $1;{%!*}::=>class $1",
    ),
    ("threads", "all threads as one", "^Thread ->All threads"),
    (
        "processes",
        "all processes of one program, and all their threads, as one",
        "^Process {*} (->Process $1;^Thread ->All threads",
    ),
    (MY_APP, "the program's own code in full, all else by how it is entered", ""),
];

/// The presets that everybody has, in the order of their list.
#[must_use]
pub fn stock_presets() -> Vec<Preset> {
    let preset = |(name, meaning, group): (&str, &str, &str)| Preset {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
        group: group.to_owned(),
        ..Preset::default()
    };
    STOCK.into_iter().map(preset).collect()
}

/// Functions that one group names: a regular expression of more would be slow to compile.
const NAMES_IN_GROUP: usize = 200;

/// The groups that leave the program's own code as it is and make everything else `OTHER`, by how it is
/// entered. None when nothing recorded is the program's own.
#[must_use]
pub fn my_app(recording: &Recording, own: &OwnCode) -> Option<String> {
    let mut modules: BTreeMap<Option<ModuleId>, OwnNames> = BTreeMap::new();
    for (at, frame) in recording.frames.iter().enumerate() {
        let id = FrameId::from_index(at);
        let names = modules.entry(frame.module).or_default();
        if own.origin(id) == CodeOrigin::Own {
            names.own.insert(recording.frame_name(id));
        } else {
            names.others = true;
        }
    }
    let groups = modules.into_iter().flat_map(|(module, names)| names.groups(recording, module));
    let mut groups: Vec<String> = groups.collect();
    if groups.is_empty() {
        return None;
    }
    groups.push("!=>OTHER".to_owned());
    Some(groups.join(";"))
}

/// The functions of a module that are the program's own.
#[derive(Debug, Default)]
struct OwnNames {
    own: BTreeSet<String>,
    /// True when it has functions that are not.
    others: bool,
}

impl OwnNames {
    /// Groups that keep these functions: the module's as a whole where all of it is own.
    fn groups(self, recording: &Recording, module: Option<ModuleId>) -> Vec<String> {
        match module.filter(|_| !self.others).map(|module| &recording.module(module).path) {
            Some(path) => vec![format!("^{}->", quoted(&format!("{path}!")))],
            None => {
                let names: Vec<String> = self.own.iter().map(|name| literal(name)).collect();
                let some = |names: &[String]| format!("@^(?:{})$->", names.join("|"));
                names.chunks(NAMES_IN_GROUP).map(some).collect()
            }
        }
    }
}

/// A name as a regular expression that has none of the signs by which lists of groups are cut.
fn literal(name: &str) -> String {
    let escaped = regex::escape(name);
    escaped.replace('"', r"\x22").replace(';', r"\x3b").replace('>', r"\x3e")
}

#[cfg(test)]
mod tests {
    use super::super::group::Groups;
    use super::super::pattern::Patterns;
    use super::*;
    use culprit_model::notation::parse;

    #[track_caller]
    fn check(preset: &str, frame: &str, expected: &str) {
        let preset = stock_presets().into_iter().find(|p| p.name == preset).expect(preset);
        let groups = Groups::parse(&preset.group).expect(&preset.group);
        let found = groups.apply(frame, None).map_or(frame.to_owned(), |grouped| grouped.name);
        assert_eq!(found, expected);
    }

    #[test]
    fn stock_presets_name_what_they_should() {
        check("modules", "ld-linux-x86-64.so.2!_dl_start", "module ld-linux-x86-64.so.2");
        check("module-entries", "[vdso]!time", "module [vdso] <<[vdso]!time>>");
        check("classes", "app!ns::Reader::next(int)", "class app!ns::Reader");
        check("class-entries", "app!Reader.next(int)", "class app!Reader <<app!Reader.next(int)>>");
        check("threads", "Thread worker (12)", "All threads");
        check("processes", "Process cc1 (77)", "Process cc1");
        check("processes", "app!main", "app!main");
    }

    #[test]
    fn my_app_is_the_programs_own_code() {
        let drawing = "stack a cpu.user main;std::sort<>;less;[kernel]!asm_exc_page_fault\n\
            app(1)/main(1) aU\nroot app(1)";
        let mut recording = parse(drawing).expect("a drawing");
        let groups = |recording: &Recording, own: &str| {
            let own = Patterns::parse(own).expect(own);
            my_app(recording, &OwnCode::new(recording, &own))
        };
        let of = |groups: &str, name: &str, long: &str| {
            let groups = Groups::parse(groups).expect(groups);
            groups.apply(name, Some(long)).map(|found| found.name)
        };
        let mixed = groups(&recording, "").expect("own code");
        assert_eq!(of(&mixed, "app!main", "app!main"), None);
        assert_eq!(of(&mixed, "app!less", "app!less"), None);
        let sort = of(&mixed, "app!std::sort<>", "app!std::sort<>");
        assert_eq!(sort.as_deref(), Some("OTHER <<app!std::sort<>>>"));
        let kernel = of(&mixed, "[kernel]!x", "[kernel]!x");
        assert_eq!(kernel.as_deref(), Some("OTHER <<[kernel]!x>>"));

        recording.frames.retain(|frame| frame.function.as_str() != "std::sort<>");
        let module = recording.modules.iter_mut().find(|module| module.name.as_str() == "app");
        module.expect("the program").path = "/opt/it's/bin/app".into();
        let whole = groups(&recording, "").expect("own code");
        assert_eq!(of(&whole, "app!other", "/opt/it's/bin/app!other"), None);
        assert!(of(&whole, "app!other", "/opt/its/bin/app!other").is_some());

        let chosen = groups(&recording, "!less").expect("own code");
        assert_eq!(of(&chosen, "app!less", "/opt/it's/bin/app!less"), None);
        assert!(of(&chosen, "app!main", "/opt/it's/bin/app!main").is_some());
        assert_eq!(groups(&recording, "nothing"), None);
    }

    #[test]
    fn names_of_own_functions_are_literal_in_lists_of_groups() {
        for name in ["app!operator\"\" _x", "app!f;g", "app!<fn() -> u8>::call", "app!a|b(c)*"] {
            let groups = Groups::parse(&format!("@^(?:{})$->;!=>OTHER", literal(name)));
            let groups = groups.expect(name);
            assert_eq!(groups.apply(name, None), None, "{name}");
            assert!(groups.apply(&format!("{name}x"), None).is_some(), "{name}");
        }
    }
}
