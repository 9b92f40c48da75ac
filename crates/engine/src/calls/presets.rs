//! Presets: named groups and folds, so that nobody has to know the pattern language for the usual
//! questions.

use culprit_model::{Recording, Text};

use super::pattern::quoted;

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
    (MY_APP, "the program's own folder in full, all else by how it is entered", ""),
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

/// The groups that leave what lies in the folder of the recorded program as it is and make
/// everything else `OTHER`, by how it is entered. None when no program's path was recorded.
#[must_use]
pub fn my_app(recording: &Recording) -> Option<String> {
    let root = recording.meta.root_process.and_then(|id| recording.processes.get(id.index()));
    let path = |exe: &Text| exe.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
    let recorded = recording.processes.iter().filter(|process| process.recorded);
    let folder = root.into_iter().chain(recorded).find_map(|process| path(&process.exe))?;
    Some(format!("^{}%!->;!=>OTHER", quoted(&folder)))
}

#[cfg(test)]
mod tests {
    use super::super::group::Groups;
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
    fn my_app_is_the_folder_of_the_program() {
        let mut recording = parse("app(1)/main(1) U\nroot app(1)").expect("a drawing");
        assert_eq!(my_app(&recording), None);
        recording.processes[0].exe = "/opt/it's/bin/app".into();
        let groups = my_app(&recording).expect("a folder");
        let groups = Groups::parse(&groups).expect("groups");
        let of = |name: &str, long: &str| groups.apply(name, Some(long)).map(|found| found.name);
        assert_eq!(of("app!main", "/opt/it's/bin/app!main"), None);
        assert_eq!(
            of("libc.so.6!read", "/usr/lib/libc.so.6!read").as_deref(),
            Some("OTHER <<libc.so.6!read>>")
        );
        assert_eq!(of("[kernel]!x", "[kernel]!x").as_deref(), Some("OTHER <<[kernel]!x>>"));
    }
}
