//! User secrets, launch profiles and arguments of .NET.

use culprit_config::{Request, SourceState, inspect};

use crate::support::{
    chain, effective, findings, folder, inspected, profile, redactor, request, write,
};

const PROJECT: &str = "<Project Sdk=\"Microsoft.NET.Sdk.Web\">\n  <PropertyGroup>\n    \
                       <UserSecretsId>shop-1</UserSecretsId>\n  </PropertyGroup>\n</Project>\n";

#[test]
fn user_secrets_count_in_development_alone() {
    let home = folder(&[(".microsoft/usersecrets/shop-1/secrets.json", "{\"A\": \"secret\"}")]);
    let home = home.path().to_str().unwrap();
    let project = folder(&[("Shop.csproj", PROJECT), ("appsettings.json", "{\"A\": 1}")]);
    let of = |variables: &[(&str, &str)]| {
        let mut all = vec![("HOME", home)];
        all.extend(variables);
        inspect(&profile("dotnet"), &request(project.path(), &all), redactor())
    };
    let found = of(&[("DOTNET_ENVIRONMENT", "Development")]);
    let secrets = format!("{home}/.microsoft/usersecrets/shop-1/secrets.json");
    assert_eq!(effective(&found), [format!("A=secret < {secrets}:1")]);
    assert_eq!(
        (found.defines[1].name.as_str(), found.defines[1].from.as_str()),
        ("user-secrets-id", "Shop.csproj:3")
    );
    let found = of(&[]);
    assert_eq!(
        chain(&found, "A"),
        ["appsettings.json:1 won".to_owned(), format!("{secrets}:1 unread")]
    );
    let source = found.sources.iter().find(|source| source.name == secrets).unwrap();
    assert!(source.why.starts_with("read for `Development` only"), "{}", source.why);
}

#[test]
fn a_project_without_user_secrets_says_nothing_of_them() {
    let project = folder(&[("appsettings.json", "{}")]);
    let found =
        inspect(&profile("dotnet"), &request(project.path(), &[("HOME", "/none")]), redactor());
    let names: Vec<&str> = found.defines.iter().map(|define| define.name.as_str()).collect();
    assert_eq!(names, ["environment"]);
    assert!(!found.has_gaps());
}

#[test]
fn a_launch_profile_counts_where_it_is_named() {
    let launch = "{\n\"profiles\": {\n \"http\": {\"environmentVariables\": {\n  \
                  \"ASPNETCORE_ENVIRONMENT\": \"Development\",\n  \"Log__Level\": \"launch\"}},\n \
                  \"other\": {\"environmentVariables\": {\"Log__Level\": \"other\"}}}}";
    let project = folder(&[
        ("Properties/launchSettings.json", launch),
        ("appsettings.json", "{\"Log\": {\"Level\": \"file\"}}"),
        ("appsettings.Development.json", "{\"Mode\": \"dev\"}"),
    ]);
    let variables = [("Log__Level", "shell")];
    let plain = request(project.path(), &variables);
    let found = inspect(&profile("dotnet"), &plain, redactor());
    assert_eq!(effective(&found), ["Log:Level=shell < environment"]);
    let file =
        found.sources.iter().find(|one| one.name == "Properties/launchSettings.json").unwrap();
    assert_eq!(file.state, SourceState::Unread);
    assert!(file.why.contains("a published program does not see them"), "{}", file.why);

    let defines = vec![("launch".to_owned(), vec!["http".to_owned()])];
    let found = inspect(&profile("dotnet"), &Request { defines, ..plain }, redactor());
    let rows = effective(&found);
    let level = "Log:Level=launch < Properties/launchSettings.json:5";
    assert!(rows.contains(&level.to_owned()), "{rows:?}");
    assert!(rows.contains(&"Mode=dev < appsettings.Development.json:1".to_owned()), "{rows:?}");
}

#[test]
fn arguments_are_the_strongest_and_arrays_are_merged_by_index() {
    let project = folder(&[("appsettings.json", "{\"A\": [\"0\", \"1\", \"2\"]}")]);
    write(project.path(), "appsettings.Production.json", b"{\"A\": [\"x\"]}");
    let words = ["--A:1=arg", "/B", "2"];
    let request = Request {
        arguments: words.map(str::to_owned).to_vec(),
        ..request(project.path(), &[("A__1", "env"), ("A__2", "env")])
    };
    let found = inspect(&profile("dotnet"), &request, redactor());
    assert_eq!(
        effective(&found),
        [
            "A:0=x < appsettings.Production.json:1",
            "A:1=arg < arguments",
            "A:2=env < environment",
            "B=2 < arguments"
        ]
    );
}

#[test]
fn variables_that_are_no_keys_are_known() {
    let files = [
        ("appsettings.json", "{\"A\": 1}"),
        (
            "Program.cs",
            "var a = Configuration[\"A\"]; Environment.GetEnvironmentVariable(\"SHOP_MODE\");",
        ),
    ];
    let variables = [("ASPNETCORE_URL", "x"), ("SHOP_MOD", "1"), ("ASPNETCORE_HTTP_PORTS", "80")];
    let found = inspected("dotnet", &files, &variables);
    assert_eq!(
        findings(&found),
        ["config-near-miss-name ASPNETCORE_URL", "config-near-miss-name SHOP_MOD"]
    );
}
