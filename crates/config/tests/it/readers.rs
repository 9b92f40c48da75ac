//! Properties of the readers: positions lead to the text, and no input makes one panic.

use culprit_config::{Format, Position, Segment, read};
use culprit_model::Label as _;
use proptest::prelude::*;

/// The text from a position to the end of its line.
fn at(text: &str, position: Position) -> String {
    let line = text.split('\n').nth(position.line as usize - 1).unwrap();
    line.chars().skip(position.column as usize - 1).collect()
}

/// A mapping of two levels in each format, with the start of the line at which a key stands.
fn drawn(format: Format, outer: &str, keys: &[String]) -> String {
    let lines = |line: &dyn Fn(&String) -> String| keys.iter().map(line).collect::<String>();
    match format {
        Format::Json | Format::Jsonc | Format::Json5 | Format::JsonDotnet => {
            let keys: Vec<String> =
                keys.iter().map(|key| format!("\n  \"{key}\": \"é\"")).collect();
            format!("{{ \"ü{outer}\": {{ {} }} }}\n", keys.join(","))
        }
        Format::Yaml | Format::YamlSpring | Format::YamlCompose | Format::YamlKubernetes => {
            format!("ü{outer}:\n{}", lines(&|key| format!("  {key}: 'é'\n")))
        }
        Format::Toml => format!("[\"ü{outer}\"]\n{}", lines(&|key| format!("  {key} = 'é'\n"))),
        Format::Git => format!("[{outer} \"ü\"]\n{}", lines(&|key| format!("  {key} = é\n"))),
        Format::GitParameters => {
            let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'='é'")).collect();
            keys.join(" ")
        }
        Format::Unit => format!("[ü{outer}]\n{}", lines(&|key| format!("  {key} = é\n"))),
        Format::Ini => format!("[ü{outer}]\n{}", lines(&|key| format!("  {key} = é\n"))),
        Format::Properties => lines(&|key| format!("  {key} = e\n")),
        Format::Xml => format!(
            "<r><o{outer}>\n{}</o{outer}></r>",
            lines(&|key| format!("  <{key}>é</{key}>\n"))
        ),
        Format::EnvDocker
        | Format::EnvCompose
        | Format::EnvDotenv
        | Format::EnvPython
        | Format::EnvSystemd => lines(&|key| format!("  {key}=é\n")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_text_at_a_position_is_the_key(
        outer in "[a-z]{1,5}",
        keys in proptest::collection::btree_set("k[a-z]{1,8}", 1..6),
    ) {
        let keys: Vec<String> = keys.into_iter().collect();
        for format in Format::ALL {
            let text = drawn(*format, &outer, &keys);
            let contents = read(*format, text.as_bytes()).unwrap();
            prop_assert_eq!(contents.entries.len(), keys.len(), "{}: {}", format, text);
            for (entry, key) in contents.entries.iter().zip(&keys) {
                prop_assert_eq!(entry.path.last(), Some(&Segment::Name(key.clone())));
                let found = at(&text, entry.at);
                let found = found.trim_start_matches(['"', '<', '\'']);
                prop_assert!(found.starts_with(key.as_str()), "{}: {:?} at {}", format, found, entry.at);
                prop_assert_eq!(entry.end_line, entry.at.line);
            }
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[a-c \\[\\]{}<>/:=&*!|'\"`#$\\\\\n\t,.\\-0-9é\u{0}]{0,80}") {
        for format in Format::ALL {
            if let Ok(contents) = read(*format, text.as_bytes()) {
                let lines = text.split(['\n', '\r']).count();
                for entry in &contents.entries {
                    prop_assert!((1..=lines).contains(&(entry.at.line as usize)), "{}", format);
                    prop_assert!(!entry.path.is_empty() && entry.end_line >= entry.at.line, "{}", format);
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            let _ = read(*format, &bytes);
        }
    }
}

#[test]
fn values_of_several_lines_end_where_they_end() {
    let cases = [
        (Format::Yaml, "a: |\n  x\n  y\nb: 1\n", 3),
        (Format::Yaml, "a: \"x\n  y\"\nb: 1\n", 2),
        (Format::Toml, "a = '''\nx\ny'''\nb = 1\n", 3),
        (Format::Properties, "a = x\\\n  y\nb = 1\n", 2),
        (Format::EnvCompose, "a=\"x\ny\"\nb=1\n", 2),
        (Format::EnvDotenv, "a=\"x\ny\"\nb=1\n", 2),
    ];
    for (format, text, end) in cases {
        let contents = read(format, text.as_bytes()).unwrap();
        let lines: Vec<_> =
            contents.entries.iter().map(|entry| (entry.at.line, entry.end_line)).collect();
        assert_eq!(lines, [(1, end), (end + 1, end + 1)], "{format}: {text}");
    }
}

#[test]
fn xml_attributes_and_lists_are_keys() {
    let text =
        "<configuration>\n  <add key='a' value='1'/>\n  <add key='b' value='2'/>\n</configuration>";
    let contents = read(Format::Xml, text.as_bytes()).unwrap();
    let found: Vec<String> =
        contents.entries.iter().map(|entry| format!("{} {:?}", entry.at, entry.path)).collect();
    assert_eq!(found.len(), 4);
    assert_eq!(found[1], "2:16 [Name(\"add\"), Index(0), Name(\"@value\")]");
}
