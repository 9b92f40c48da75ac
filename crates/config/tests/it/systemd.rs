//! The variables of units of systemd.

use crate::support::{chain, effective, findings, inspected};

const UNIT: &str = "etc/systemd/system/shop.service";

#[test]
fn files_of_variables_beat_those_of_the_unit_and_its_drop_ins() {
    let unit = "[Service]\nEnvironment=PORT=1 \"NOTE=a b\"\nEnvironmentFile=/etc/shop.env\nEnvironmentFile=-/etc/none\nUnsetEnvironment=GONE\nEnvironment=GONE=1\nExecStart=/bin/shop\n";
    let files = [
        (UNIT, unit),
        ("etc/systemd/system/shop.service.d/a.conf", "[Service]\nEnvironment=PORT=2\n"),
        ("etc/shop.env", "PORT=3\nexport HOST=x\n"),
    ];
    let found = inspected("systemd", &files, &[]);
    let shown = effective(&found);
    assert!(shown.contains(&"shop.service/PORT=3 < etc/shop.env:1".to_owned()), "{shown:?}");
    assert!(shown.contains(&format!("shop.service/NOTE=a b < {UNIT}:2")), "{shown:?}");
    let expected = [
        format!("{UNIT}:2 shadowed"),
        "etc/systemd/system/shop.service.d/a.conf:2 shadowed".to_owned(),
        "etc/shop.env:1 won".to_owned(),
    ];
    assert_eq!(chain(&found, "shop.service/PORT"), expected);
    assert_eq!(chain(&found, "shop.service/GONE"), [format!("{UNIT}:6 shadowed")]);
    assert_eq!(findings(&found), ["config-bad-env-file-value export HOST"]);
    let mut names: Vec<&str> = found.variables.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GONE", "NOTE", "PORT", "PORT", "PORT"]);
    assert_eq!(found.find("PORT").len(), 1);
}

#[test]
fn a_file_of_variables_that_is_not_below_the_folder_makes_values_unknown() {
    let unit =
        "[Service]\nEnvironmentFile=/etc/default/shop\nEnvironment=PORT=1\nExecStart=/bin/x\n";
    let found = inspected("systemd", &[("shop.service", unit)], &[]);
    let port = found.effective.iter().find(|one| one.key == "shop.service/PORT").unwrap();
    assert_eq!(port.certainty, culprit_config::Certainty::Unknown);
    assert!(port.gap.is_some());
}

#[test]
fn a_unit_of_a_whole_system_does_not_start_without_its_file_of_variables() {
    let of = |path: &str| {
        let unit = format!("[Service]\nEnvironmentFile={path}\nExecStart=/bin/x\n");
        let files =
            [("etc/os-release", "ID=x\n"), ("etc/systemd/system/shop.service", unit.as_str())];
        inspected("systemd", &files, &[])
    };
    let found = of("/etc/default/shop");
    assert_eq!(findings(&found), ["config-start-fails "]);
    let title = &found.findings[0].title;
    assert_eq!(title, "`shop.service` does not start: `etc/default/shop` does not exist.");
    assert_eq!(findings(&of("-/etc/default/shop")), [""; 0]);
}

#[test]
fn lines_that_systemd_leaves_out_are_findings() {
    for (unit, finding) in [
        ("[Service]\nEnviroment=A=1\nExecStart=/x\n", "config-bad-env-file-value Enviroment"),
        ("[service]\nTimeoutStopSec=5\n", "config-bad-env-file-value [service]"),
        ("[Service]\nEnvironment=FROM=Shop Team\n", "config-bad-env-file-value FROM"),
        ("[Service]\nExecStart=/a\nExecStart=/b\n", "config-start-fails "),
    ] {
        assert_eq!(findings(&inspected("systemd", &[(UNIT, unit)], &[])), [finding], "{unit}");
    }
    for unit in [
        "[Service]\nType=oneshot\nExecStart=/a\nExecStart=/b\n",
        "[Unit]\nX-Mine=1\n[X-Other]\nA=1\n[Service]\nASettingOfTomorrow=1\nExecStart=/b\n",
    ] {
        assert_eq!(findings(&inspected("systemd", &[(UNIT, unit)], &[])), [""; 0], "{unit}");
    }
}

#[test]
fn a_drop_in_may_replace_the_command_by_emptying_the_list_first() {
    let path = "etc/systemd/system/shop.service.d/a.conf";
    let files =
        [(UNIT, "[Service]\nExecStart=/a\n"), (path, "[Service]\nExecStart=\nExecStart=/b\n")];
    assert_eq!(findings(&inspected("systemd", &files, &[])), [""; 0]);
}

#[test]
fn drop_ins_that_systemd_does_not_take_are_findings() {
    let unit = "[Service]\nExecStart=/a\n";
    let more = "[Service]\nEnvironment=A=1\n";
    for path in
        ["etc/systemd/system/shop.service.d/10-a", "etc/systemd/system/shopd.service.d/a.conf"]
    {
        let found = inspected("systemd", &[(UNIT, unit), (path, more)], &[]);
        assert_eq!(findings(&found), ["config-off-load-path "], "{path}");
    }
    let path = "etc/systemd/system/docker.service.d/a.conf";
    assert_eq!(findings(&inspected("systemd", &[(UNIT, unit), (path, more)], &[])), [""; 0]);
}
