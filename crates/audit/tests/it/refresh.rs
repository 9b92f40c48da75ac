//! Stores that are brought up to date, against stores that are made at once.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use culprit_audit::{LATE_MS, RefreshOptions, Refreshed, SourceFormat, Store, digests, refresh};

use crate::imports::{import_options, run};
use crate::support::{options, sample};

fn refreshed(store: &Path) -> Refreshed {
    let options = RefreshOptions {
        store: store.to_owned(),
        hash_ip: None,
        tolerance: 0.01,
        late_ms: LATE_MS,
        verify: true,
    };
    refresh(&options, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// The first part of a file's lines.
fn part_of_lines(path: &Path, part: usize, of: usize) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines[..lines.len() * part / of].concat()
}

#[test]
fn a_store_that_grew_is_the_store_that_is_made_at_once() {
    let folder = tempfile::tempdir().unwrap();
    sample(&folder.path().join("sample"), &options(1200));
    for (format, name) in [
        (SourceFormat::XdbJson, "xdb-json"),
        (SourceFormat::XdbCsv, "xdb-csv"),
        (SourceFormat::AccessLog, "access.log"),
        (SourceFormat::SnowplowTsv, "snowplow.tsv"),
    ] {
        let whole = folder.path().join("sample").join(name);
        let growing = folder.path().join(format!("growing-{name}"));
        let store = folder.path().join(format!("store-{name}"));
        let mut files = vec![(whole.clone(), growing.clone())];
        if whole.is_dir() {
            files.clear();
            for shard in std::fs::read_dir(&whole).unwrap().flatten() {
                for file in std::fs::read_dir(shard.path()).unwrap().flatten() {
                    let to = growing.join(shard.file_name()).join(file.file_name());
                    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                    files.push((file.path(), to));
                }
            }
        }
        for part in 1..=3 {
            for (from, to) in &files {
                std::fs::write(to, part_of_lines(from, part, 3)).unwrap();
            }
            if part == 1 {
                run(&import_options(&store, format, std::slice::from_ref(&growing))).unwrap();
                continue;
            }
            let done = refreshed(&store);
            assert_eq!(done.files_read, files.len() as u64, "{format} {part}");
            assert_eq!(done.differences.as_deref(), Some(&[][..]), "{format} {part}");
        }
        let nothing = refreshed(&store);
        assert_eq!((nothing.files_read, nothing.imports.len()), (0, 0), "{format}");
        let at_once = folder.path().join(format!("at-once-{name}"));
        run(&import_options(&at_once, format, &[whole])).unwrap();
        let of = |path: &Path| digests(&Store::open(path).unwrap()).unwrap();
        assert_eq!(of(&store).differences(&of(&at_once)), Vec::<String>::new(), "{format}");
    }
}

fn row(at: u32, modified: &str, pages: usize) -> String {
    let view = r##"{"@odata.type":"#x.PageViewEvent","Url":"/a"}"##;
    format!(
        "{{\"InteractionId\":\"00000000-0000-4000-8000-{at:012}\",\"ContactId\":\
         \"22def722-a7fa-42a4-8ce5-bbc796b35e31\",\"LastModified\":\"{modified}\",\"StartDateTime\":\
         \"2026-05-01T01:00:00Z\",\"EndDateTime\":\"2026-05-01T01:02:00Z\",\"Events\":[{}]}}\n",
        vec![view; pages].join(",")
    )
}

#[test]
fn newer_rows_replace_and_late_ones_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (source, store) = (folder.path().join("rows"), folder.path().join("store"));
    std::fs::create_dir(&source).unwrap();
    let file = |name: &str, rows: &[String]| {
        std::fs::write(source.join(name), rows.concat()).unwrap();
    };
    file("1.ndjson", &[row(1, "2026-05-01", 1), row(2, "2026-05-10", 1)]);
    run(&import_options(&store, SourceFormat::XdbJson, std::slice::from_ref(&source))).unwrap();
    // The first again and newer; one in time, and one that no export from the watermark would have.
    file("2.ndjson", &[row(1, "2026-05-11", 3), row(3, "2026-05-09", 1), row(4, "2026-05-02", 1)]);
    let done = refreshed(&store);
    assert_eq!((done.files, done.files_read), (2, 1));
    let counts = &done.imports[0].counts;
    assert_eq!((counts.interactions, counts.late), (3, 1));
    assert!(done.imports[0].warnings[0].contains("--late"), "{:?}", done.imports[0].warnings);
    assert_eq!(done.differences.as_deref(), Some(&[][..]));
    let mark = done.watermarks[&0];
    assert_eq!(mark.newest_ms - mark.from_ms, LATE_MS);
    // 2026-05-11.
    assert_eq!(mark.newest_ms, 1_778_457_600_000);
    let opened = Store::open(&store).unwrap();
    assert_eq!((opened.rows("interactions"), opened.rows("page_views")), (4, 6));
}

#[test]
fn a_store_with_other_rows_than_its_sources_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (source, store) = (folder.path().join("rows.ndjson"), folder.path().join("store"));
    std::fs::write(&source, [row(1, "2026-05-01", 1), row(2, "2026-05-02", 2)].concat()).unwrap();
    run(&import_options(&store, SourceFormat::XdbJson, std::slice::from_ref(&source))).unwrap();
    // Its second row is gone, which an import cannot know.
    std::fs::write(&source, row(1, "2026-05-01", 1)).unwrap();
    let differences = refreshed(&store).differences.unwrap();
    assert!(
        differences
            .iter()
            .any(|line| line.starts_with("interactions ") && line.contains("2 rows, made anew 1")),
        "{differences:?}"
    );
}
