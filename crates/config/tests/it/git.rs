//! Repositories of git: from a folder below one, and from a work tree that was added.

use std::path::Path;

use culprit_config::{Configuration, inspect};

use crate::support::{effective, folder, profile, redactor, request, write};

fn of(folder: &Path, variables: &[(&str, &str)]) -> Configuration {
    inspect(&profile("git"), &request(folder, variables), redactor())
}

/// The values of `user.name`, without the folder that the test made.
fn name(found: &Configuration, folder: &Path) -> Vec<String> {
    let start = format!("{}/", folder.canonicalize().unwrap().display());
    let all = effective(found).into_iter().filter(|one| one.starts_with("user.name="));
    all.map(|one| one.replace(&start, "")).collect()
}

#[test]
fn a_folder_below_a_repository_belongs_to_it() {
    let files = [
        (".git/config", "[user]\n\tname = repo\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (
            "home/.gitconfig",
            "[user]\n\tname = home\n[includeIf \"onbranch:main\"]\n\tpath = main\n",
        ),
        ("home/main", "[user]\n\tname = main\n"),
        ("sub/deep/x", ""),
    ];
    let folder = folder(&files);
    let home = folder.path().join("home");
    let variables = [("HOME", home.to_str().unwrap()), ("GIT_CONFIG_NOSYSTEM", "1")];
    let below = of(&folder.path().join("sub/deep"), &variables);
    assert_eq!(name(&below, folder.path()), ["user.name=repo < .git/config:2"]);
    let main = below.sources.iter().find(|source| source.name.ends_with("home/main")).unwrap();
    assert_eq!(main.state.to_string(), "read", "the branch is known: {}", main.why);
    let beside = of(folder.path(), &variables);
    assert_eq!(name(&beside, folder.path()), ["user.name=repo < .git/config:2"]);
}

#[test]
fn a_work_tree_that_was_added_has_the_settings_of_its_repository() {
    let files = [
        ("main/.git/config", "[extensions]\n\tworktreeConfig = true\n[user]\n\tname = repo\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n"),
    ];
    let folder = folder(&files);
    let own = folder.path().join("main/.git/worktrees/w");
    write(folder.path(), "w/.git", format!("gitdir: {}\n", own.display()).as_bytes());
    let variables = [("GIT_CONFIG_NOSYSTEM", "1")];
    let found = of(&folder.path().join("w"), &variables);
    assert_eq!(name(&found, folder.path()), ["user.name=repo < main/.git/config:4"]);
    write(&own, "config.worktree", b"[user]\n\tname = tree\n");
    let found = of(&folder.path().join("w"), &variables);
    let expected = "user.name=tree < main/.git/worktrees/w/config.worktree:2";
    assert_eq!(name(&found, folder.path()), [expected]);
}

#[test]
fn the_variable_that_holds_a_key_is_named_where_it_beats_a_file() {
    let folder = folder(&[(".git/config", "[core]\n\teditor = nano\n")]);
    let variables = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.editor"),
        ("GIT_CONFIG_VALUE_0", "ed"),
    ];
    let found = of(folder.path(), &variables);
    let shadowed = found.findings.iter().find(|one| one.id == "config-shadowed").unwrap();
    assert_eq!(
        shadowed.fix[0],
        "If the file is right: `unset GIT_CONFIG_COUNT` in the shell that starts the program."
    );
}

#[test]
fn the_password_of_an_address_in_a_key_is_hidden() {
    let text = "[url \"https://u:hunter2@git.example/\"]\n\tinsteadOf = x:\n";
    let folder = folder(&[(".git/config", text)]);
    let found = of(folder.path(), &[("GIT_CONFIG_NOSYSTEM", "1")]);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:#?}");
}
