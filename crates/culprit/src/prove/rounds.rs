//! Which variables are watched in which run of the command.

use std::collections::BTreeSet;

use culprit_record::observe::MOST_WATCHED;

/// Variables that every login or shell sets; nobody asks whether they are read.
const OF_EVERY_LOGIN: [&str; 28] = [
    "_",
    "BASH",
    "COLORTERM",
    "COLUMNS",
    "DISPLAY",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "HUSHLOGIN",
    "LANG",
    "LINES",
    "LOGNAME",
    "LS_COLORS",
    "MAIL",
    "MOTD_SHOWN",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PS1",
    "PWD",
    "SHELL",
    "SHLVL",
    "SUDO_COMMAND",
    "SUDO_USER",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];
/// The same, whatever follows.
const STARTS_OF_LOGINS: [&str; 6] = ["LC_", "SSH_", "XDG_", "SUDO_", "DBUS_", "CULPRIT_"];

/// The rounds, and the variables that are left out of all of them.
///
/// `wanted` are the variables to watch; if there are none, those of `present` that no login sets: first the ones that
/// the `project` asks for.
pub(crate) fn rounds(
    wanted: &[String],
    (present, project): (&[String], &BTreeSet<String>),
    decoy: bool,
    most: usize,
) -> (Vec<Vec<String>>, Vec<String>) {
    let each = MOST_WATCHED - usize::from(decoy);
    let mut chosen: Vec<String> = if wanted.is_empty() {
        let of_login = |name: &str| {
            OF_EVERY_LOGIN.contains(&name)
                || STARTS_OF_LOGINS.iter().any(|start| name.starts_with(start))
        };
        let asked = present.iter().filter(|name| project.contains(*name));
        let others = present.iter().filter(|name| !project.contains(*name) && !of_login(name));
        asked.chain(others).cloned().collect()
    } else {
        wanted.to_vec()
    };
    chosen.dedup();
    let mut rounds: Vec<Vec<String>> = chosen.chunks(each).map(<[String]>::to_vec).collect();
    let left_out = rounds.split_off(most.min(rounds.len())).concat();
    if rounds.is_empty() {
        rounds.push(Vec::new());
    }
    (rounds, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn three_variables_and_a_decoy_fit_into_a_round() {
        let present = names(&["A", "B", "C", "D", "HOME", "LC_ALL", "PATH"]);
        let none = BTreeSet::new();
        let present = (present.as_slice(), &none);
        let (found, left) = rounds(&[], present, true, 1);
        assert_eq!((found, left), (vec![names(&["A", "B", "C"])], names(&["D"])));
        let (found, left) = rounds(&[], present, true, 9);
        assert_eq!((found, left), (vec![names(&["A", "B", "C"]), names(&["D"])], Vec::new()));
        let (found, _) = rounds(&[], present, false, 1);
        assert_eq!(found, [names(&["A", "B", "C", "D"])]);
    }

    #[test]
    fn what_is_asked_for_is_watched_whatever_it_is_called() {
        let none = BTreeSet::new();
        let (found, left) = rounds(&names(&["HOME"]), (&names(&["A"]), &none), true, 1);
        assert_eq!((found, left), (vec![names(&["HOME"])], Vec::new()));
        assert_eq!(rounds(&[], (&[], &none), true, 1).0, [Vec::<String>::new()]);
    }

    #[test]
    fn what_the_project_asks_for_is_watched_first() {
        let project = BTreeSet::from(["D".to_owned(), "LANG".to_owned(), "GONE".to_owned()]);
        let (found, left) = rounds(&[], (&names(&["A", "B", "D", "LANG"]), &project), true, 1);
        assert_eq!((found, left), (vec![names(&["D", "LANG", "A"])], names(&["B"])));
    }
}
