//! ARCHITECTURE.md leads samples from bytes to the tree: in ten steps at most, by functions that are there.

use std::path::Path;

/// The rows of a walk's table: file and function.
fn steps<'a>(text: &'a str, title: &str) -> Vec<(&'a str, &'a str)> {
    let section = text.split_once(&format!("### {title}\n")).expect(title).1;
    let section = section.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`'));
        (cells.next().expect("a file"), cells.next().expect("a function"))
    });
    cells.collect()
}

#[test]
fn walks_name_functions_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    for title in ["A sample from a ring", "A sample from perf.data"] {
        let steps = steps(&text, title);
        assert!((5..=10).contains(&steps.len()), "{title}: {} steps", steps.len());
        for (file, function) in steps {
            let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let named = [format!("fn {function}("), format!("fn {function}<")];
            assert!(
                named.iter().any(|name| source.contains(name)),
                "{title}: {function} of {file}"
            );
        }
    }
}
