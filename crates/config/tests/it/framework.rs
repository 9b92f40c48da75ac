//! Configuration builders, by the rules of their published source.

use culprit_config::{Outcome, SourceState};

use crate::support::{chain, effective, findings, inspected};

/// A main file with one builder and one section.
fn web(builder: &str, section: &str) -> String {
    format!(
        "<configuration>\n<configBuilders><builders>\n<add name=\"E\" {builder} \
         type=\"Microsoft.Configuration.ConfigurationBuilders.EnvironmentConfigBuilder, X\"/>\n\
         </builders></configBuilders>\n{section}\n</configuration>"
    )
}

const KEYS: &str = "<appSettings configBuilders=\"E\">\n<add key=\"alpha\" value=\"file\"/>\n\
                    <add key=\"role:define\" value=\"none\"/>\n</appSettings>";

fn of(builder: &str, section: &str, environment: &[(&str, &str)]) -> culprit_config::Configuration {
    inspected("aspnet-framework", &[("Web.config", &web(builder, section))], environment)
}

#[test]
fn a_strict_builder_asks_for_the_keys_of_the_file() {
    let strict = of("", KEYS, &[("ALPHA", "1"), ("beta", "2"), ("role:define", "x")]);
    assert_eq!(effective(&strict), ["alpha=1 < environment", "role:define=none < Web.config:7"]);
    assert_eq!(chain(&strict, "alpha"), ["Web.config:6 shadowed", "environment won"]);
    // Version 3 looks for `role__define`; without a prefix other variables are another program's.
    let mapped = of("", KEYS, &[("role__define", "x")]);
    assert_eq!(effective(&mapped)[1], "role:define=x < environment");
    assert_eq!(mapped.other_variables, 0);
}

#[test]
fn a_prefix_is_stripped_from_variables_or_needed_in_keys() {
    let stripped =
        of("prefix=\"P_\" stripPrefix=\"true\"", KEYS, &[("P_alpha", "1"), ("alpha", "2")]);
    assert_eq!(effective(&stripped)[0], "alpha=1 < environment");
    let kept = of("prefix=\"al\"", KEYS, &[("alpha", "1"), ("role__define", "2")]);
    assert_eq!(effective(&kept), ["alpha=1 < environment", "role:define=none < Web.config:7"]);
}

#[test]
fn a_variable_without_a_key_is_never_applied_and_the_line_is_given() {
    let builder = "prefix=\"P_\" stripPrefix=\"true\" charMap=\":=:\"";
    let configuration = of(builder, KEYS, &[("P_my.env:define", "Production")]);
    let one = configuration.assignments.iter().find(|one| one.outcome == Outcome::NoKey).unwrap();
    assert_eq!((one.key.as_str(), one.written.as_str()), ("my.env:define", "P_my.env:define"));
    assert_eq!(findings(&configuration), ["config-never-applied my.env:define"]);
    assert!(
        configuration.findings[0].fix[0].contains("`<add key=\"my.env:define\" value=\"\" />`"),
        "{:?}",
        configuration.findings[0]
    );
}

#[test]
fn a_name_that_the_builder_does_not_ask_for_is_told_from_one_without_a_key() {
    let builder = "prefix=\"P_\" stripPrefix=\"true\"";
    let outcome = |name: &str| {
        let configuration = of(builder, KEYS, &[(name, "x")]);
        let lost = configuration.assignments.iter().find(|one| one.outcome.is_never_applied());
        lost.map(|one| (one.outcome, one.key.to_string()))
    };
    let key = |key: &str| key.to_owned();
    // The builder replaces `:` before it asks.
    assert_eq!(outcome("P_role:define"), Some((Outcome::WrongCase, key("role:define"))));
    assert_eq!(outcome("role__define"), Some((Outcome::WrongPrefix, key("role:define"))));
    assert_eq!(outcome("PP_role__define"), Some((Outcome::WrongPrefix, key("role:define"))));
    assert_eq!(outcome("P_other__define"), Some((Outcome::NoKey, key("other:define"))));
    assert_eq!(outcome("HOME"), None);
    let configuration = of(builder, KEYS, &[("P_role:define", "x")]);
    assert_eq!(configuration.findings[0].fix, ["Rename it to `P_role__define`."]);
}

#[test]
fn a_greedy_builder_takes_all_and_does_not_put_characters_back() {
    let builder = "mode=\"Greedy\" prefix=\"P_\" stripPrefix=\"true\"";
    let configuration = of(builder, KEYS, &[("p_ALPHA", "1"), ("P_role__define", "x")]);
    assert_eq!(
        effective(&configuration),
        [
            "alpha=1 < environment",
            "role:define=none < Web.config:7",
            "role__define=x < environment"
        ]
    );
}

#[test]
fn a_greedy_connection_string_loses_its_provider() {
    let section = "<connectionStrings configBuilders=\"E\">\n\
                   <add name=\"web\" connectionString=\"a\" providerName=\"p\"/>\n</connectionStrings>";
    let greedy =
        of("mode=\"Greedy\" prefix=\"C_\" stripPrefix=\"true\"", section, &[("C_Web", "b")]);
    assert_eq!(effective(&greedy), ["connectionStrings/web=b < environment"]);
    assert_eq!(
        chain(&greedy, "connectionStrings/web/@providerName"),
        ["Web.config:6 shadowed", "environment won"]
    );
    let strict = of("prefix=\"C_\" stripPrefix=\"true\"", section, &[("C_web", "b")]);
    assert_eq!(
        effective(&strict),
        [
            "connectionStrings/web=b < environment",
            "connectionStrings/web/@providerName=p < Web.config:6"
        ]
    );
}

#[test]
fn tokens_are_replaced_in_keys_and_values_and_stay_without_a_value() {
    let section = "<appSettings configBuilders=\"E\">\n<add key=\"${K}x\" value=\"a${V}b${none}\"/>\n\
                   </appSettings>";
    let configuration = of("mode=\"Token\"", section, &[("K", "k"), ("V", "1")]);
    assert_eq!(effective(&configuration), ["kx=a1b${none} < environment"]);
    let escaped = of("mode=\"Token\" prefix=\"P\"", section, &[("K", "k"), ("V", "1")]);
    assert_eq!(effective(&escaped), ["${K}x=a${V}b${none} < Web.config:6"]);
}

#[test]
fn versions_of_builders_differ_in_what_they_replace() {
    let file = |version: &str, more: &str| {
        web(more, KEYS).replace(
            "EnvironmentConfigBuilder, X",
            &format!("EnvironmentConfigBuilder, X, Version={version}"),
        )
    };
    let value = |version: &str, more: &str, name: &str| {
        let text = file(version, more);
        let configuration = inspected("aspnet-framework", &[("web.config", &text)], &[(name, "x")]);
        effective(&configuration)[1].starts_with("role:define=x")
    };
    assert!(value("1.0.0.0", "", "role:define") && !value("1.0.0.0", "", "role__define"));
    assert!(value("2.0.0.0", "", "role:define"));
    assert!(value("2.0.0.0", "mapHierarchySeparator=\"true\"", "role__define"));
    assert!(value("3.1.0.0", "charMap=\":=-\"", "role-define"));
}

#[test]
fn builders_apply_in_their_order_and_a_disabled_one_does_not() {
    let text = "<configuration><configBuilders><builders>\n\
                <add name=\"A\" prefix=\"A_\" stripPrefix=\"true\" type=\"Microsoft.Configuration.ConfigurationBuilders.EnvironmentConfigBuilder, X\"/>\n\
                <add name=\"B\" prefix=\"B_\" stripPrefix=\"true\" type=\"Microsoft.Configuration.ConfigurationBuilders.EnvironmentConfigBuilder, X\"/>\n\
                <add name=\"C\" prefix=\"C_\" enabled=\"Disabled\" stripPrefix=\"true\" type=\"Microsoft.Configuration.ConfigurationBuilders.EnvironmentConfigBuilder, X\"/>\n\
                </builders></configBuilders>\n\
                <appSettings configBuilders=\"A, B,C\"><add key=\"k\" value=\"0\"/></appSettings>\n\
                <system.webServer configBuilders=\"A\"/></configuration>";
    let environment = [("A_k", "1"), ("B_k", "2"), ("C_k", "3")];
    let configuration = inspected("aspnet-framework", &[("web.config", text)], &environment);
    assert_eq!(
        chain(&configuration, "k"),
        [
            "web.config:6 shadowed",
            "environment shadowed",
            "environment won",
            "environment never_applied"
        ]
    );
    assert_eq!(
        findings(&configuration),
        ["config-never-applied k", "config-never-applied system.webServer"]
    );
    assert_eq!(effective(&configuration), ["k=2 < environment"]);
}

#[test]
fn sections_in_other_files_are_read_and_a_missing_one_is_found() {
    let main = "<configuration><appSettings file=\"more.config\"><add key=\"a\" value=\"1\"/>\
                </appSettings><connectionStrings configSource=\"App_Config\\c.config\"/></configuration>";
    let more = "<appSettings><remove key=\"a\"/><add key=\"b\" value=\"2\"/></appSettings>";
    let strings = "<connectionStrings><add name=\"x\" connectionString=\"s\"/></connectionStrings>";
    let files = [("web.config", main), ("more.config", more), ("App_Config/c.config", strings)];
    let configuration = inspected("aspnet-framework", &files, &[]);
    assert_eq!(
        effective(&configuration),
        ["b=2 < more.config:1", "connectionStrings/x=s < App_Config/c.config:1"]
    );
    assert_eq!(chain(&configuration, "a"), ["web.config:1 shadowed", "more.config:1 won"]);
    let without = inspected("aspnet-framework", &files[..1], &[]);
    assert_eq!(findings(&without), ["config-optional-source-failed "]);
    let state = |name: &str| without.sources.iter().find(|one| one.name == name).unwrap().state;
    assert_eq!(state("more.config"), SourceState::Missing);
    assert_eq!(state("App_Config/c.config"), SourceState::MissingRequired);
    assert!(without.has_gaps());
}

#[test]
fn a_builder_of_another_source_makes_its_section_unknown() {
    let text = web("vaultName=\"v\"", KEYS)
        .replace("EnvironmentConfigBuilder", "AzureKeyVaultConfigBuilder");
    let configuration = inspected("aspnet-framework", &[("web.config", &text)], &[]);
    assert!(configuration.has_gaps());
    assert_eq!(configuration.effective[0].certainty, culprit_config::Certainty::Unknown);
    let json = text.replace("vaultName=\"v\"", "jsonFile=\"~/App_Data/none.json\"");
    let optional = inspected("aspnet-framework", &[("web.config", &json)], &[]);
    assert_eq!(findings(&optional), ["config-optional-source-failed "]);
}

#[test]
fn times_that_the_invariant_culture_does_not_read_are_found() {
    let section = "<appSettings><add key=\"t\" value=\"24:00:00\"/><add key=\"u\" value=\"00:05:00\"/></appSettings>";
    assert_eq!(findings(&of("", section, &[])), ["config-culture-parse t"]);
}
