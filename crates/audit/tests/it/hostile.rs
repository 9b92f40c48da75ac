//! Input that is damaged, hostile or odd.

use std::path::Path;

use culprit_audit::schema::{Contact, Facet, InteractionRow, JsonState, ParseState};
use culprit_audit::{ImportOptions, Imported, SourceFormat, Store, read_source};

use culprit_query::{Dataset, Limits, Stop};

use crate::imported::imported;
use crate::imports::{import_options, run};

fn of_rows(folder: &Path, rows: &[u8]) -> (Imported, Store) {
    let file = folder.join("rows.ndjson");
    std::fs::write(&file, rows).unwrap();
    let store = folder.join("store");
    let options = import_options(&store, SourceFormat::XdbJson, &[file]);
    let imported = run(&ImportOptions { tolerance: 1.0, ..options }).unwrap();
    (imported, Store::open(&store).unwrap())
}

const CONTACT: &str = "22def722-a7fa-42a4-8ce5-bbc796b35e31";

#[test]
fn a_value_of_100_mb_is_counted_and_its_neighbours_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let facet = |name: &str, value: &str| {
        format!(
            "{{\"ContactId\":\"{CONTACT}\",\"FacetKey\":\"{name}\",\"FacetData\":{{\"a\":\"{value}\"}}}}\n"
        )
    };
    let mut rows = facet("Small", "x").into_bytes();
    rows.extend(facet("Huge", &"y".repeat(100_000_000)).into_bytes());
    rows.extend(facet("After", "z").into_bytes());
    let (imported, store) = of_rows(folder.path(), &rows);
    assert_eq!((imported.counts.rows, imported.counts.rejected), (3, 0));
    let facets = store.read::<Facet>().unwrap();
    let largest = facets.iter().map(|facet| facet.bytes_utf8.0).max();
    assert_eq!((facets.len(), largest), (3, Some(100_000_008)));
    assert!(facets.iter().all(|facet| facet.json_state == JsonState::Valid));
}

/// Another number would be an answer that nobody doubts.
#[test]
fn a_flipped_bit_in_any_file_of_a_store_is_found() {
    let sample = imported(400, 0.2);
    let ask = |table: &str| {
        let tables = culprit_audit::tables_of(&sample.store).unwrap();
        let limits = Limits { memory_bytes: 64 << 20, threads: 1 };
        let rows =
            Dataset::new(tables, limits).rows(&format!("SELECT * FROM {table}"), &Stop::default());
        rows.map(drop).map_err(|error| error.to_string())
    };
    let store = Store::open(&sample.store).unwrap();
    let mut tables = 0;
    for table in culprit_audit::schema::TABLES {
        let name = table.table.name;
        let Some(file) = store.files(name).next() else { continue };
        tables += 1;
        let path = store.path(file);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(ask(name), Ok(()));
        for at in [0, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            let why = ask(name).expect_err(name);
            assert!(why.contains("damaged") && why.contains(&file.path), "{why}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert!(tables > 12, "{tables}");
}

#[test]
fn every_cut_of_a_row_is_read_or_rejected_and_the_next_row_is_whole() {
    let row = format!(
        "{{\"InteractionId\":\"00000000-0000-4000-8000-000000000001\",\"ContactId\":\"{CONTACT}\",\
         \"StartDateTime\":\"2026-05-01T01:00:00Z\",\"EndDateTime\":\"2026-05-01T01:00:00Z\",\
         \"UserAgent\":\"a\\\"\\ud83d\",\"Events\":[{{\"Url\":\"/a\"}}]}}"
    );
    let next = row.replace("000001\"", "000002\"");
    for end in 0..row.len() {
        let text = format!("{}\n{next}\n", &row[..end]);
        let found = read_source(SourceFormat::XdbJson, "x", text.as_bytes()).unwrap();
        assert_eq!(found.interactions, 1, "{end}");
        assert_eq!(found.rows, found.rejected + 1, "{end}");
    }
}

#[test]
fn dates_out_of_range_and_ends_before_starts_have_no_duration() {
    let folder = tempfile::tempdir().unwrap();
    let row = |at: u32, start: &str, end: &str| {
        format!(
            "{{\"InteractionId\":\"00000000-0000-4000-8000-{at:012}\",\"ContactId\":\"{CONTACT}\",\
             \"StartDateTime\":\"{start}\",\"EndDateTime\":\"{end}\"}}\n"
        )
    };
    let rows = [
        row(1, "0001-01-01T00:00:00", "2026-05-01T01:00:00Z"),
        row(2, "2026-05-01T01:00:00Z", "9999-12-31T23:59:59.9999999Z"),
        row(3, "2026-05-01T01:00:00Z", "2026-05-01T00:59:59Z"),
        row(4, "2026-02-30T01:00:00Z", "2026-13-01T00:59:59Z"),
        row(5, "2026-05-01T01:00:00Z", "2026-05-01T01:00:01Z"),
    ];
    let (imported, store) = of_rows(folder.path(), rows.concat().as_bytes());
    assert_eq!((imported.counts.bad_dates, imported.counts.ends_before_start), (3, 1));
    let mut rows = store.read::<InteractionRow>().unwrap();
    rows.sort_by_key(|row| row.interaction_id);
    let lengths: Vec<_> = rows.iter().map(|row| row.duration_ms.map(|ms| ms.0)).collect();
    assert_eq!(lengths, [None, None, None, None, Some(1000)]);
    assert_eq!(rows[2].parse_state, ParseState::EndBeforeStart);
}

#[test]
fn a_contact_in_two_shards_is_one_contact_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let row = |shard: &str, day: u32| {
        format!(
            "{{\"ContactId\":\"{CONTACT}\",\"LastModified\":\"2026-05-0{day}\",\"ShardKey\":\"{shard}\"}}\n"
        )
    };
    let rows = [row("0x01", 2), row("0xF1", 1), row("0xF1", 3), row("0x01", 2)];
    let (imported, store) = of_rows(folder.path(), rows.concat().as_bytes());
    let contacts = store.read::<Contact>().unwrap();
    assert_eq!((contacts.len(), contacts[0].shards, contacts[0].shard), (1, 2, 0));
    assert_eq!(imported.counts.rejected, 0);
}

#[test]
fn the_same_rows_in_two_files_count_once_whichever_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let row = |at: u32| {
        format!(
            "{{\"InteractionId\":\"00000000-0000-4000-8000-{at:012}\",\"ContactId\":\"{CONTACT}\",\
             \"LastModified\":\"2026-05-02\",\"StartDateTime\":\"2026-05-01T01:00:00Z\",\"ShardKey\":\"0x{:02X}\"}}\n",
            at % 2 * 200
        )
    };
    // Shards that overlap: both files have the second row.
    let source = folder.path().join("rows");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("a.ndjson"), [row(1), row(2)].concat()).unwrap();
    std::fs::write(source.join("b.ndjson"), [row(2), row(3)].concat()).unwrap();
    let store = folder.path().join("store");
    let imported = run(&import_options(&store, SourceFormat::XdbJson, &[source])).unwrap();
    assert_eq!((imported.counts.interactions, imported.counts.unchanged), (3, 1));
    let store = Store::open(&store).unwrap();
    let shards: Vec<_> =
        store.read::<InteractionRow>().unwrap().iter().map(|row| row.shard).collect();
    assert_eq!(shards.iter().filter(|shard| **shard == 1).count(), 2);
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_are_no_harm() {
    let junk: Vec<u8> = (0..200_000_u32)
        .map(|at| u8::try_from(at.wrapping_mul(2_654_435_761) >> 24).unwrap())
        .collect();
    let long = vec![b'a'; 3_000_000];
    let nested = "[".repeat(200_000).into_bytes();
    let quotes = "\"".repeat(200_001).into_bytes();
    for format in [
        SourceFormat::XdbJson,
        SourceFormat::XdbCsv,
        SourceFormat::Bcp,
        SourceFormat::AccessLog,
        SourceFormat::Iis,
        SourceFormat::CloudFront,
        SourceFormat::Elb,
        SourceFormat::JsonLog,
        SourceFormat::SnowplowTsv,
        SourceFormat::Ga4Json,
        SourceFormat::Matomo,
    ] {
        for text in [&junk, &long, &nested, &quotes] {
            let found = read_source(format, "Interactions.dat", text);
            assert!(found.is_err() || found.is_ok_and(|found| found.interactions == 0), "{format}");
        }
    }
}
