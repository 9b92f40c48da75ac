//! A variable that is set on the container and never applied: before and after its key is added.
//!
//! The image's web.config has no key for the rule `myproject.environment`, the container has the
//! variable, and a patch needs the rule.

use culprit_config::{ConfigFinding, Configuration};

use crate::support::{chain, inspected};

const VARIABLE: &str = "SITECORE_APPSETTINGS_myproject.environment:define";
const KEY: &str = "settings/setting[@name='Timeout']/@value";

fn web(more: &str) -> String {
    format!(
        r#"<configuration>
  <configBuilders>
    <builders>
      <add name="SitecoreAppSettingsBuilder" mode="Strict" prefix="SITECORE_APPSETTINGS_" stripPrefix="true"
        type="Microsoft.Configuration.ConfigurationBuilders.EnvironmentConfigBuilder, Microsoft.Configuration.ConfigurationBuilders.Environment, Version=1.0.0.0, Culture=neutral"/>
    </builders>
  </configBuilders>
  <appSettings configBuilders="SitecoreAppSettingsBuilder">
    <add key="role:define" value="Standalone"/>
{more}  </appSettings>
</configuration>
"#
    )
}

const PATCH: &str = r#"<configuration xmlns:set="http://www.sitecore.net/xmlconfig/set/"
  xmlns:environment="http://www.sitecore.net/xmlconfig/myproject.environment/">
  <sitecore>
    <settings>
      <setting name="Timeout" environment:require="Production" set:value="60"/>
    </settings>
  </sitecore>
</configuration>
"#;

fn of(more: &str, environment: &[(&str, &str)]) -> Configuration {
    let base = "<sitecore><settings><setting name=\"Timeout\" value=\"10\"/></settings></sitecore>";
    let files = [
        ("web.config", &*web(more)),
        ("App_Config/Sitecore.config", base),
        ("App_Config/Include/z.config", PATCH),
    ];
    inspected("sitecore-10", &files, environment)
}

fn words(finding: &ConfigFinding) -> Vec<String> {
    let head = format!("{} {} {}", finding.severity, finding.id, finding.evidence.join(", "));
    [vec![head, finding.title.clone(), finding.why.clone()], finding.fix.clone()].concat()
}

#[test]
fn before_the_key_is_added_the_variable_and_the_rule_are_found() {
    let configuration = of("", &[(VARIABLE, "Production")]);
    let said: Vec<Vec<String>> = configuration.findings.iter().map(words).collect();
    assert_eq!(
        said,
        [
            vec![
                "high config-never-applied environment",
                "`SITECORE_APPSETTINGS_myproject.environment:define` is set, and `web.config` has no \
                 key for it: it is never applied.",
                "Reason: web.config:8 has no key `myproject.environment:define`, and the builder \
                 `SitecoreAppSettingsBuilder` is Strict: it asks only for what is there.",
                "Add this line to `<appSettings>` in `web.config`: `<add \
                 key=\"myproject.environment:define\" value=\"\" />`.",
                "Or set `mode=\"Greedy\"` on the builder, if every variable with the prefix is meant.",
            ],
            vec![
                "high config-undefined-rule App_Config/Include/z.config:5",
                "The condition `Production` is about the rule `myproject.environment`, which nothing \
                 defines.",
                "The condition is ignored: what it guards applies in every environment.",
                "Add this line to `<appSettings>` in `web.config`: `<add \
                 key=\"myproject.environment:define\" value=\"Production\" />`.",
                "Or correct the rule's name, if another one is meant.",
            ],
        ]
    );
    assert_eq!(
        chain(&configuration, "myproject.environment:define"),
        ["environment never_applied(no_key)"]
    );
    // The node applies although the rule is undefined.
    assert_eq!(
        chain(&configuration, KEY),
        [
            "App_Config/Sitecore.config:1 shadowed",
            "App_Config/Include/z.config:5 condition_ignored_undefined"
        ]
    );
}

#[test]
fn after_the_key_is_added_the_variable_wins_and_the_node_follows_it() {
    let key = "    <add key=\"myproject.environment:define\" value=\"none\"/>\n";
    for (value, last) in [
        (
            "Production",
            ["App_Config/Sitecore.config:1 shadowed", "App_Config/Include/z.config:5 won"],
        ),
        (
            "Staging",
            ["App_Config/Sitecore.config:1 won", "App_Config/Include/z.config:5 condition_false"],
        ),
    ] {
        let configuration = of(key, &[(VARIABLE, value)]);
        assert_eq!(configuration.findings, []);
        assert_eq!(
            chain(&configuration, "myproject.environment:define"),
            ["web.config:10 shadowed", "environment won"]
        );
        assert_eq!(chain(&configuration, KEY), last, "{value}");
    }
}
