//! Patches, conditions and layers, by the rules of the published patch helper.

use culprit_config::{Certainty, Configuration, Outcome, SourceState};

use crate::support::{chain, effective, findings, inspected};

const WEB: &str = "<configuration><appSettings><add key=\"role:define\" value=\"ContentDelivery\"/>\
                   <add key=\"env:define\" value=\"QA|Test\"/></appSettings>\
                   <sitecore configSource=\"App_Config\\Sitecore.config\"/></configuration>";
const BASE: &str = "<sitecore>\n<settings>\n<setting name=\"Timeout\" value=\"1\"/>\n\
                    <setting name=\"Counters.Enabled\" value=\"true\"/>\n</settings>\n<p>\n\
                    <step type=\"A\"/>\n<step type=\"B\"/>\n</p>\n</sitecore>";

/// A patch below `sitecore` with all namespaces.
fn patch(inside: &str) -> String {
    format!(
        "<configuration xmlns:patch=\"http://www.sitecore.net/xmlconfig/\" \
         xmlns:set=\"http://www.sitecore.net/xmlconfig/set/\" \
         xmlns:role=\"http://www.sitecore.net/xmlconfig/role/\" \
         xmlns:env=\"http://www.sitecore.net/xmlconfig/env/\" \
         xmlns:my=\"http://www.sitecore.net/xmlconfig/my.rule/\">\n<sitecore>\n{inside}\n\
         </sitecore></configuration>"
    )
}

fn of(patches: &[(&str, &str)]) -> Configuration {
    let patches: Vec<(String, String)> = patches
        .iter()
        .map(|(name, inside)| (format!("App_Config/{name}"), patch(inside)))
        .collect();
    let mut files = vec![("web.config", WEB), ("App_Config/Sitecore.config", BASE)];
    files.extend(patches.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    inspected("sitecore-10", &files, &[])
}

const TIMEOUT: &str = "settings/setting[@name='Timeout']/@value";

fn values(configuration: &Configuration, start: &str) -> Vec<String> {
    let all = effective(configuration);
    all.into_iter().filter(|one| one.starts_with(start)).collect()
}

#[test]
fn an_attribute_knows_every_file_that_set_it() {
    let configuration = of(&[
        ("Include/a.config", "<settings><setting name=\"Timeout\" set:value=\"2\"/></settings>"),
        (
            "Include/z/b.config",
            "<settings>\n<setting name=\"Timeout\"><patch:attribute name=\"value\">3</patch:attribute></setting></settings>",
        ),
        (
            "Environment/a.config",
            "<settings><setting name=\"Timeout\" set:value=\"3\"/></settings>",
        ),
    ]);
    assert_eq!(
        chain(&configuration, TIMEOUT),
        [
            "App_Config/Sitecore.config:3 shadowed",
            "App_Config/Include/a.config:3 shadowed",
            "App_Config/Include/z/b.config:4 no_op",
            "App_Config/Environment/a.config:3 won"
        ]
    );
    let named = configuration.find("timeout");
    assert_eq!(named.len(), 1, "the name of a setting is enough");
    let winner = &configuration.assignments[named[0].winner.unwrap()];
    assert_eq!((winner.at.unwrap().line, winner.at.unwrap().column), (3, 35));
    assert_eq!(configuration.findings, []);
}

#[test]
fn conditions_leave_out_a_node_with_all_below_it() {
    let configuration = of(&[(
        "Include/a.config",
        "<settings role:require=\"ContentDelivery and !Indexing\">\n\
         <setting name=\"Timeout\" env:require=\"Production\" set:value=\"2\"/>\n\
         <setting name=\"Timeout\" env:require=\"qa\" set:value=\"3\"/>\n</settings>\n\
         <settings role:require=\"ContentManagement\">\n<setting name=\"Timeout\" set:value=\"4\"/></settings>",
    )]);
    assert_eq!(
        chain(&configuration, TIMEOUT),
        [
            "App_Config/Sitecore.config:3 shadowed",
            "App_Config/Include/a.config:5 won",
            "App_Config/Include/a.config:4 condition_false",
            "App_Config/Include/a.config:8 condition_false"
        ]
    );
    let false_ones =
        configuration.assignments.iter().filter(|one| one.outcome == Outcome::ConditionFalse);
    let reason = &false_ones.max_by_key(|one| one.at).unwrap().reason;
    assert_eq!(reason, "needs role `ContentManagement`; role is `contentdelivery`");
}

#[test]
fn a_condition_on_an_undefined_rule_is_ignored_and_found() {
    let configuration = of(&[(
        "Include/a.config",
        "<settings><setting name=\"Timeout\" my:require=\"Production\" set:value=\"2\"/></settings>",
    )]);
    assert_eq!(
        chain(&configuration, TIMEOUT)[1],
        "App_Config/Include/a.config:3 condition_ignored_undefined"
    );
    assert_eq!(findings(&configuration), ["config-undefined-rule my.rule:define"]);
    assert_eq!(
        values(&configuration, "settings/setting[@name='Timeout']/@value"),
        [format!("{TIMEOUT}=2 < App_Config/Include/a.config:3")]
    );
}

#[test]
fn a_malformed_condition_leaves_its_node_unknown() {
    let configuration = of(&[(
        "Include/a.config",
        "<settings><setting name=\"Timeout\" role:require=\"a, b\" set:value=\"2\"/></settings>",
    )]);
    assert_eq!(chain(&configuration, TIMEOUT)[1], "App_Config/Include/a.config:3 unknown");
    let key = configuration.effective.iter().find(|one| one.key == TIMEOUT).unwrap();
    assert_eq!(key.certainty, Certainty::Unknown);
}

#[test]
fn a_patch_that_matches_nothing_adds_a_second_element() {
    let configuration = of(&[(
        "Include/a.config",
        "<settings><setting name=\"Timeout\" value=\"2\"/>\n<setting name=\"New\" value=\"5\"/>\n\
         <setting name=\"Counters.Enable\"><patch:attribute name=\"value\">false</patch:attribute></setting></settings>",
    )]);
    assert_eq!(
        findings(&configuration),
        [
            "config-added-not-changed settings/setting[@name='Counters.Enabled']/@name",
            "config-added-not-changed settings/setting[@name='Timeout']/@value"
        ]
    );
    assert_eq!(
        chain(&configuration, TIMEOUT),
        [
            "App_Config/Sitecore.config:3 won",
            "App_Config/Include/a.config:3 added_instead_of_changed"
        ]
    );
    let second = "settings/setting[@name='Timeout'][2]/@value";
    assert_eq!(
        values(&configuration, second),
        [format!("{second}=2 < App_Config/Include/a.config:3")]
    );
    let key = configuration.effective.iter().find(|one| one.key == TIMEOUT).unwrap();
    assert_eq!(key.certainty, Certainty::Assumed);
}

#[test]
fn elements_are_placed_replaced_and_deleted() {
    let configuration = of(&[(
        "Include/a.config",
        "<p>\n<step type=\"C\" patch:before=\"step[@type='B']\"/>\n\
         <step type=\"D\" patch:instead=\"*[@type='A']\"/>\n\
         <step type=\"B\"><patch:delete/></step>\n\
         <step type=\"E\" patch:after=\"step[@type='F']\"/>\n\
         <step type=\"F\"/>\n<step type=\"G\"><patch:delete/></step>\n\
         <step type=\"H\" patch:after=\"step[@type='none']\"/>\n\
         <step type=\"D\"><patch:deleteattribute name=\"method\"/></step>\n</p>",
    )]);
    let steps = values(&configuration, "p/step");
    let types: Vec<&str> = steps
        .iter()
        .filter(|one| one.contains("/@type="))
        .filter_map(|one| one.split('\'').nth(1))
        .collect();
    assert_eq!(types, ["C", "D", "E", "F", "H"]);
    let of_a =
        configuration.effective.iter().find(|one| one.key == "p/step[@type='A']/@type").unwrap();
    assert_eq!(of_a.winner, None);
    let reason = &configuration.assignments[of_a.chain[0]].reason;
    assert_eq!(reason, "App_Config/Include/a.config:5 takes the place of its element");
    let ops: Vec<String> = ["C", "D"]
        .iter()
        .map(|name| {
            let key = format!("p/step[@type='{name}']/@type");
            let row = configuration.effective.iter().find(|one| *one.key == *key).unwrap();
            configuration.assignments[row.winner.unwrap()].op.to_string()
        })
        .collect();
    assert_eq!(ops, ["before", "instead"]);
    assert_eq!(
        findings(&configuration),
        [
            "config-target-missing p/step[@type='D']/@method",
            "config-target-missing p/step[@type='G']",
            "config-target-missing p/step[@type='H']"
        ]
    );
}

#[test]
fn text_replaces_text() {
    let base = "<sitecore><a><b>1</b></a></sitecore>";
    let files = [
        ("web.config", WEB),
        ("App_Config/Sitecore.config", base),
        ("App_Config/Include/x.config", &patch("<a><b>2</b></a>")),
    ];
    let configuration = inspected("sitecore-10", &files, &[]);
    assert_eq!(
        chain(&configuration, "a/b"),
        ["App_Config/Sitecore.config:1 shadowed", "App_Config/Include/x.config:3 won"]
    );
}

#[test]
fn layers_are_read_in_their_order_and_files_off_the_path_are_found() {
    let layers = "<layers><layer name=\"Custom\" includeFolder=\"/App_Config/Include/\"><loadOrder>\
                  <add path=\"Z\" type=\"Folder\"/><add path=\"b.config\" type=\"File\" mode=\"off\"/>\
                  <add path=\"none\" type=\"Folder\"/></loadOrder></layer>\
                  <layer name=\"Off\" includeFolder=\"/App_Config/Off/\" mode=\"Off\"/></layers>";
    let set = |value: &str| {
        patch(&format!("<settings><setting name=\"Timeout\" set:value=\"{value}\"/></settings>"))
    };
    let texts: Vec<String> = ["z", "a", "b", "c", "o", "x"].iter().map(|one| set(one)).collect();
    let files = [
        ("web.config", WEB),
        ("App_Config/Sitecore.config", BASE),
        ("App_Config/Layers.config", layers),
        ("App_Config/Include/Z/z.config", texts[0].as_str()),
        ("App_Config/Include/a.config", &texts[1]),
        ("App_Config/Include/b.config", &texts[2]),
        ("App_Config/Include/c.config.disabled", &texts[3]),
        ("App_Config/Off/o.config", &texts[4]),
        ("App_Config/Other/x.config", &texts[5]),
    ];
    let configuration = inspected("sitecore-10", &files, &[]);
    assert_eq!(
        chain(&configuration, TIMEOUT),
        [
            "App_Config/Sitecore.config:3 shadowed",
            "App_Config/Include/Z/z.config:3 shadowed",
            "App_Config/Include/a.config:3 won"
        ]
    );
    let states: Vec<(&str, SourceState)> =
        configuration.sources.iter().skip(3).map(|one| (one.name.as_str(), one.state)).collect();
    assert_eq!(
        states,
        [
            ("App_Config/Include/none", SourceState::Missing),
            ("App_Config/Include/Z/z.config", SourceState::Read),
            ("App_Config/Include/b.config", SourceState::OffLoadPath),
            ("App_Config/Include/a.config", SourceState::Read),
            ("App_Config/Include/c.config.disabled", SourceState::Unread),
            ("App_Config/Off/o.config", SourceState::OffLoadPath),
            ("App_Config/Other/x.config", SourceState::OffLoadPath)
        ]
    );
    assert_eq!(
        findings(&configuration),
        [
            "config-off-load-path ",
            "config-off-load-path ",
            "config-off-load-path ",
            "config-optional-source-failed "
        ]
    );
}

#[test]
fn a_role_that_no_installation_has_is_never_true() {
    let configuration = of(&[(
        "Include/a.config",
        "<settings role:require=\"ContentDelivry\"/>\n<settings role:require=\"ContentDelivery and !ContentDelivery\"/>\n\
         <settings role:require=\"ContentManagement and Indexing\"/>\n<settings env:require=\"Anything\"/>\n\
         <settings role:require=\"ContentDelivery-2\"/>",
    )]);
    assert_eq!(findings(&configuration), ["config-never-true role", "config-never-true role"]);
    let lines: Vec<&str> =
        configuration.findings.iter().map(|one| one.evidence[0].as_str()).collect();
    assert_eq!(lines, ["App_Config/Include/a.config:3", "App_Config/Include/a.config:4"]);
}

#[test]
fn included_files_are_a_part_of_the_tree_and_a_cycle_is_refused() {
    let base = "<sitecore><sc.include file=\"/App_Config/more.config\"/></sitecore>";
    let more = "<sitecore database=\"x\"><settings><setting name=\"Timeout\" value=\"7\"/></settings>\
                <sc.include file=\"/App_Config/Sitecore.config\"/></sitecore>";
    let files = [
        ("web.config", WEB),
        ("App_Config/Sitecore.config", base),
        ("App_Config/more.config", more),
    ];
    let configuration = inspected("sitecore-10", &files, &[]);
    let refused =
        configuration.sources.iter().find(|one| one.state == SourceState::Unparsable).unwrap();
    assert!(
        refused.why.starts_with("includes itself: app_config/sitecore.config > "),
        "{}",
        refused.why
    );
    assert_eq!(
        configuration.assignments.iter().filter(|one| one.outcome == Outcome::Won).count(),
        5
    );
    assert_eq!(
        configuration.effective.iter().find(|one| one.key == TIMEOUT).unwrap().certainty,
        Certainty::Unknown
    );
}

#[test]
fn version_8_has_one_folder_of_patches_and_no_rule_that_is_always_defined() {
    let web = "<configuration><appSettings/><sitecore configSource=\"App_Config\\Sitecore.config\"/></configuration>";
    let off = "<settings role:require=\"ContentManagement\"><setting name=\"Timeout\" set:value=\"2\"/></settings>";
    let of = |web: &str| {
        let files = [
            ("web.config", web),
            ("App_Config/Sitecore.config", BASE),
            ("App_Config/Include/a.config", &*patch(off)),
            ("App_Config/Environment/b.config", &*patch("<settings/>")),
        ];
        inspected("sitecore-8", &files, &[])
    };
    let found = of(web);
    assert_eq!(values(&found, TIMEOUT), [format!("{TIMEOUT}=2 < App_Config/Include/a.config:3")]);
    assert!(
        findings(&found).iter().any(|one| one.starts_with("config-undefined-rule")),
        "{:?}",
        findings(&found)
    );
    let read = |name: &str| {
        found.sources.iter().any(|one| one.name == name && one.state == SourceState::Read)
    };
    assert!(!read("App_Config/Environment/b.config"));
    let found = of(WEB);
    assert_eq!(values(&found, TIMEOUT), [format!("{TIMEOUT}=1 < App_Config/Sitecore.config:3")]);
}
