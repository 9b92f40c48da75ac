//! Files that want to hurt: refused with the reason, in little time and memory.

use culprit_config::{Format, MAX_BYTES, SourceState, Unreadable, inspect, read};

use crate::support::{profile, redactor, request, write};

fn reason(format: Format, text: &str) -> String {
    read(format, text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn entities_of_xml_are_not_followed() {
    let laughs =
        "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"x\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
    assert!(reason(Format::Xml, laughs).contains("document type"));
    let external = "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>";
    assert!(reason(Format::Xml, external).contains("document type"));
    // What an unknown entity is called may be a part of a password.
    assert!(!reason(Format::Xml, "<a b='x&hunter2;'/>").contains("hunter2"));
}

#[test]
fn nesting_has_an_end() {
    let deep = |open: &str, close: &str| open.repeat(10_000) + &close.repeat(10_000);
    for (format, text) in [
        (Format::Json, deep("[", "]")),
        (Format::Jsonc, deep("{\"a\":", "}")),
        (Format::Yaml, deep("[", "]")),
        (Format::Yaml, deep("{a: ", "}")),
        (Format::Toml, format!("a = {}", deep("[", "]"))),
        (Format::Xml, deep("<a>", "</a>")),
    ] {
        assert!(read(format, text.as_bytes()).is_err(), "{format}");
    }
    // The parser of YAML itself stops at 255 brackets.
    let fine = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    assert!(read(Format::Yaml, fine.as_bytes()).is_ok());
}

#[test]
fn aliases_of_yaml_cannot_explode() {
    let mut wide = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut merged = "m0: &m0 {k0: 1}\n".to_owned();
    for level in 1..30 {
        let below = level - 1;
        wide.push_str(&format!(
            "a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}, *a{below}]\n"
        ));
        merged.push_str(&format!(
            "m{level}: &m{level} {{<<: [*m{below}, *m{below}], k{level}: 1}}\n"
        ));
    }
    assert!(matches!(read(Format::Yaml, wide.as_bytes()), Err(Unreadable::TooLarge(_))));
    // Merging the same mapping twice adds nothing.
    assert_eq!(read(Format::Yaml, merged.as_bytes()).unwrap().entries.len(), 30 * 31 / 2);
    let chain: String = (1..600).map(|n| format!("a{n}: &a{n} [*a{}]\n", n - 1)).collect();
    assert!(matches!(
        read(Format::Yaml, format!("a0: &a0 [1]\n{chain}").as_bytes()),
        Err(Unreadable::TooLarge(_))
    ));
    assert!(reason(Format::Yaml, "a: &a [*a]").contains("refers to itself"));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("appsettings.json")).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    write(folder.path(), "appsettings.Production.json", b"{\"a\": \xff}");
    let configuration = inspect(&profile("dotnet"), &request(folder.path(), &[]), redactor());
    let states: Vec<_> =
        configuration.sources.iter().map(|source| (source.state, source.why.as_str())).collect();
    assert!(states.contains(&(SourceState::TooLarge, "larger than 64 MiB")), "{states:?}");
    assert!(
        states.contains(&(SourceState::Unparsable, "line 1, column 7: not UTF-8")),
        "{states:?}"
    );
}

#[test]
fn a_define_chooses_no_file_outside_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "project/appsettings.json", b"{}");
    write(folder.path(), "appsettings.x.json", b"{\"a\": 1}");
    let environment = [("DOTNET_ENVIRONMENT", "../appsettings.x")];
    let root = folder.path().join("project");
    let configuration = inspect(&profile("dotnet"), &request(&root, &environment), redactor());
    assert!(configuration.effective.is_empty(), "{:?}", configuration.effective);
}

#[test]
fn a_hostile_patch_is_refused_with_the_reason_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("site");
    write(&root, "web.config", b"<configuration/>");
    write(&root, "App_Config/Sitecore.config", b"<sitecore><a><b c='1'/></a></sitecore>");
    let patch =
        |inside: &str| format!("<configuration><sitecore>{inside}</sitecore></configuration>");
    let include = |name: &str, text: &str| {
        write(&root, &format!("App_Config/Include/{name}.config"), text.as_bytes());
    };
    include("a-deep", &patch(&("<a>".repeat(10_000) + &"</a>".repeat(10_000))));
    include(
        "b-laughs",
        &format!("<!DOCTYPE a [<!ENTITY l \"ha\"><!ENTITY m \"&l;&l;\">]>{}", patch("&m;")),
    );
    include(
        "c-entity",
        &format!("<!DOCTYPE a [<!ENTITY e SYSTEM \"/etc/passwd\">]>{}", patch("&e;")),
    );
    include("d-open", "<configuration>\n<sitecore>");
    write(folder.path(), "outside.config", patch("<a><b c='9'/></a>").as_bytes());
    std::os::unix::fs::symlink(
        "../../../outside.config",
        root.join("App_Config/Include/e-link.config"),
    )
    .unwrap();
    std::os::unix::fs::symlink("..", root.join("App_Config/Include/f-loop")).unwrap();
    let large = std::fs::File::create(root.join("App_Config/Include/g-large.config")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    include("h-fine", &patch("<a><d>x</d></a>"));
    let configuration = inspect(&profile("sitecore-10"), &request(&root, &[]), redactor());
    let files = configuration.sources.iter().filter(|one| one.name.contains("Include/"));
    let said: Vec<(&str, SourceState, &str)> = files
        .map(|one| (one.name.rsplit('/').next().unwrap(), one.state, one.why.as_str()))
        .collect();
    let doctype = "line 1, column 1: a document type, whose entities are not followed";
    assert_eq!(said[0].1, SourceState::TooLarge, "{said:?}");
    assert_eq!(said[1], ("b-laughs.config", SourceState::Unparsable, doctype));
    assert_eq!(said[2], ("c-entity.config", SourceState::Unparsable, doctype));
    assert_eq!((said[3].0, said[3].1), ("d-open.config", SourceState::Unparsable));
    assert!(said[3].2.contains("never closed"), "{}", said[3].2);
    assert_eq!((said[4].0, said[4].1), ("e-link.config", SourceState::Outside));
    assert!(said.contains(&("g-large.config", SourceState::TooLarge, "larger than 64 MiB")));
    assert!(said.contains(&("h-fine.config", SourceState::Read, "")), "{said:?}");
    assert!(configuration.has_gaps());
    assert!(configuration.effective.iter().any(|one| one.key == "a/d"));
}

#[test]
fn a_patch_that_makes_matching_exponential_ends() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "web.config", b"<configuration/>");
    // Each level has two elements that both match, and each is judged by what is below it.
    let level = |inside: &str| format!("<a><b/>{inside}</a><a>{inside}</a>");
    let deep = (0..15).fold(String::new(), |inside, _| level(&inside));
    assert!(deep.len() < 4 << 20);
    write(
        folder.path(),
        "App_Config/Sitecore.config",
        format!("<sitecore>{deep}</sitecore>").as_bytes(),
    );
    let nested = "<a>".repeat(400) + &"</a>".repeat(400);
    let patch = format!(
        "<configuration><sitecore>{}{nested}</sitecore></configuration>",
        "<a><b/><a/></a>".repeat(200)
    );
    write(folder.path(), "App_Config/Include/x.config", patch.as_bytes());
    let configuration = inspect(&profile("sitecore-10"), &request(folder.path(), &[]), redactor());
    assert!(!configuration.has_gaps(), "{:?}", configuration.sources);
}
