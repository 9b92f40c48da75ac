//! The formats of logs and of analytics tools, against the truth of samples and with damage.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use culprit_audit::schema::{Contact, InteractionRow, RejectedRow, StoredPlace, VisitTraffic};
use culprit_audit::visits::Zone;
use culprit_audit::{Error, ImportOptions, Imported, SampleOptions, SourceFormat, Store};

use crate::imports::{import_options, run};
use crate::support::{options, sample};

/// Each format with the file that a sample has of it.
const FILES: [(SourceFormat, &str); 7] = [
    (SourceFormat::AccessLog, "access.log"),
    (SourceFormat::Iis, "iis.log"),
    (SourceFormat::CloudFront, "cloudfront.log"),
    (SourceFormat::Elb, "elb.log"),
    (SourceFormat::JsonLog, "access.ndjson"),
    (SourceFormat::SnowplowTsv, "snowplow.tsv"),
    (SourceFormat::Ga4Json, "ga4.ndjson"),
];

/// An import of a text, with any number of unreadable rows.
fn of_text(folder: &Path, format: SourceFormat, text: &[u8]) -> Result<(Imported, Store), Error> {
    let file = folder.join("source");
    std::fs::write(&file, text).unwrap();
    let store = folder.join("store");
    let options = import_options(&store, format, &[file]);
    let imported = run(&ImportOptions { tolerance: 1.0, ..options })?;
    Ok((imported, Store::open(&store)?))
}

#[test]
fn every_log_has_the_visits_of_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &SampleOptions { malformed: 2_000, ..options(1500) });
    let mut interactions = Vec::new();
    for (format, name) in &FILES[..5] {
        let path = folder.path().join(format!("store-{format}"));
        let source = folder.path().join(name);
        let imported = run(&import_options(&path, *format, &[source])).unwrap();
        assert_eq!(imported.counts.rejected, truth.malformed, "{format}");
        assert_eq!(imported.counts.rows, truth.files[*name].rows, "{format}");
        assert_eq!(imported.counts.page_views, truth.pages, "{format}");
        let store = Store::open(&path).unwrap();
        let traffic = store.read::<VisitTraffic>().unwrap();
        let requests = traffic.iter().map(|row| u64::from(row.requests)).sum::<u64>();
        assert_eq!(requests, imported.counts.rows - imported.counts.rejected, "{format}");
        interactions.push((imported.counts.interactions, store.rows("user_agents")));
    }
    // Load balancers have milliseconds, which may move a visit's end.
    assert!(interactions.iter().all(|(visits, _)| *visits <= truth.visits));
    interactions.remove(3);
    assert!(interactions.windows(2).all(|two| two[0] == two[1]), "{interactions:?}");
}

#[test]
fn events_of_analytics_tools_become_the_visits_that_were() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &SampleOptions { malformed: 2_000, ..options(1500) });
    for (format, name) in &FILES[5..] {
        let path = folder.path().join(format!("store-{format}"));
        let options = import_options(&path, *format, &[folder.path().join(name)]);
        let imported = run(&options).unwrap();
        assert_eq!(imported.counts.interactions, truth.visits, "{format}");
        assert_eq!(imported.counts.page_views, truth.pages, "{format}");
        assert_eq!(imported.counts.rejected, truth.malformed, "{format}");
        let store = Store::open(&path).unwrap();
        let contacts = store.read::<Contact>().unwrap();
        assert_eq!(contacts.len() as u64, truth.contacts - truth.contacts_without_interactions);
        assert!(!run(&options).unwrap().changed, "{format}: a second import adds nothing");
        if *format == SourceFormat::SnowplowTsv {
            let places = store.read::<StoredPlace>().unwrap();
            let rows = store.read::<InteractionRow>().unwrap();
            let is = |row: &&InteractionRow| {
                let place = row.place_id.map(|place| &places[place.0 as usize]);
                place.is_some_and(|place| {
                    let place = (place.country.as_deref(), place.postal.as_deref());
                    place == (Some("UA"), Some("49000"))
                })
            };
            let visits = truth.places["UA 49000"].values().map(|day| day.visits + day.robot_visits);
            assert_eq!(rows.iter().filter(is).count() as u64, visits.sum::<u64>());
        }
    }
}

#[test]
fn auto_finds_what_a_source_is_and_refuses_a_mixture() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(200));
    let files = FILES.map(|(format, name)| (format, folder.path().join(name)));
    let tables = [SourceFormat::XdbJson, SourceFormat::XdbCsv];
    let tables = tables.map(|format| (format, folder.path().join(format.to_string())));
    for (format, source) in files.iter().chain(&tables) {
        let store = folder.path().join(format!("auto-{format}"));
        let options = import_options(&store, SourceFormat::Auto, std::slice::from_ref(source));
        assert_eq!(run(&options).unwrap().format, *format);
    }
    let mixed = [files[0].1.clone(), files[1].1.clone()];
    let store = folder.path().join("mixed");
    let error = run(&import_options(&store, SourceFormat::Auto, &mixed)).unwrap_err();
    assert!(matches!(error, Error::Options(_)), "{error}");
    let unknown = [folder.path().join("ExcludeRobots.config")];
    let error = run(&import_options(&store, SourceFormat::Auto, &unknown)).unwrap_err();
    assert!(matches!(error, Error::Source { .. }) && !store.exists(), "{error}");
}

#[test]
fn a_source_cut_anywhere_loses_at_most_its_last_row() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(60));
    for (format, name) in FILES {
        let text = std::fs::read(folder.path().join(name)).unwrap();
        for part in [1, 5, 10, 16, 19] {
            let text = &text[..text.len() * part / 20];
            let inner = tempfile::tempdir().unwrap();
            let (imported, _) = of_text(inner.path(), format, text).unwrap();
            assert!(imported.counts.rejected <= 1, "{format} {part}: {:?}", imported.counts);
            assert!(imported.counts.page_views > 0 || part < 3, "{format} {part}");
        }
    }
}

#[test]
fn compressed_logs_are_read_and_half_of_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(200));
    let text = std::fs::read(folder.path().join("cloudfront.log")).unwrap();
    let inner = tempfile::tempdir().unwrap();
    let (plain, _) = of_text(inner.path(), SourceFormat::CloudFront, &text).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    let packed = zstd::encode_all(&text[..], 1).unwrap();
    for bytes in [&gzip, &packed] {
        let inner = tempfile::tempdir().unwrap();
        let (read, _) = of_text(inner.path(), SourceFormat::CloudFront, bytes).unwrap();
        assert_eq!(read.counts.interactions, plain.counts.interactions);
        let inner = tempfile::tempdir().unwrap();
        let half = of_text(inner.path(), SourceFormat::CloudFront, &bytes[..bytes.len() / 2]);
        let Err(Error::Source { why, .. }) = &half else { panic!("{half:?}") };
        assert!(why.contains("is cut"), "{why}");
        assert!(!inner.path().join("store").exists());
    }
}

#[test]
fn fields_hold_over_the_whole_file_also_beyond_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("#Fields: date time c-ip cs-uri-stem sc-status\n");
    for at in 0..120_000 {
        text.push_str(&format!(
            "2026-11-28 {:02}:{:02}:{:02} 10.0.0.{} /a/very/long/path/of/a/page 200\n",
            at / 3600 % 24,
            at / 60 % 60,
            at % 60,
            at % 200
        ));
        if at == 70_000 {
            text.push_str("#Fields: c-ip date time sc-status cs-uri-stem x-new\n");
            text.push_str(&"10.0.0.1 2026-11-28 23:59:59 404 /b -\n".repeat(80_000));
            text.push_str("#Fields: date time c-ip cs-uri-stem sc-status\n");
        }
    }
    let (imported, store) = of_text(folder.path(), SourceFormat::Iis, text.as_bytes()).unwrap();
    assert_eq!((imported.counts.rows, imported.counts.rejected), (200_000, 0));
    let traffic = store.read::<VisitTraffic>().unwrap();
    let errors = traffic.iter().map(|row| u64::from(row.client_errors)).sum::<u64>();
    assert_eq!(errors, 80_000);
}

/// Lines without an offset at these times.
fn local_log(clocks: &[&str]) -> String {
    let line =
        |clock: &&str| format!("10.0.0.1 - - [{clock}] \"GET /a HTTP/1.1\" 200 1 \"-\" \"a\"\n");
    clocks.iter().map(line).collect()
}

#[test]
fn times_without_an_offset_are_those_of_the_zone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let clocks = [
        "29/Mar/2026:03:30:00",
        "25/Oct/2026:03:10:00",
        "25/Oct/2026:03:50:00",
        "25/Oct/2026:03:10:00",
        "28/Nov/2026:12:00:00",
    ];
    std::fs::write(&file, local_log(&clocks)).unwrap();
    let starts = |zone: Option<&str>| {
        let store = folder.path().join(format!("store-{}", zone.unwrap_or("").replace('/', "-")));
        let options = import_options(&store, SourceFormat::AccessLog, std::slice::from_ref(&file));
        let zone = zone.map(|zone| Zone::parse(zone).unwrap());
        let imported = run(&ImportOptions { zone, ..options }).unwrap();
        let rows = Store::open(&store).unwrap().read::<InteractionRow>().unwrap();
        let mut starts: Vec<_> =
            rows.iter().filter_map(|row| row.start_utc).map(|at| at.0).collect();
        starts.sort_unstable();
        (imported, starts)
    };
    let (imported, kyiv) = starts(Some("Europe/Kyiv"));
    assert_eq!((imported.counts.times_skipped, imported.counts.times_repeated), (1, 3));
    assert_eq!(imported.warnings.len(), 2, "{:?}", imported.warnings);
    // 00:10 UTC; the third of the repeated times is 01:10 UTC, 20 minutes after 00:50.
    assert_eq!(kyiv, [1_774_747_800_000, 1_792_887_000_000, 1_792_889_400_000, 1_795_860_000_000]);
    let (imported, shifted) = starts(Some("+02:00"));
    assert!(imported.warnings[0].contains("fixed shift"), "{:?}", imported.warnings);
    assert_eq!(shifted.last(), kyiv.last());
    let (imported, utc) = starts(None);
    assert!(imported.warnings.is_empty());
    assert_eq!(utc.last().map(|ms| ms - 2 * 3_600_000), kyiv.last().copied());
}

#[test]
fn options_that_have_no_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(20));
    let store = folder.path().join("store");
    let of = |format, name: &str| import_options(&store, format, &[folder.path().join(name)]);
    let zone = Zone::parse("Europe/Kyiv");
    let field = vec![(culprit_audit::LogField::Address, "x".to_owned())];
    for options in [
        ImportOptions { zone, ..of(SourceFormat::Iis, "iis.log") },
        ImportOptions { zone, ..of(SourceFormat::Elb, "elb.log") },
        ImportOptions { fields: field, ..of(SourceFormat::AccessLog, "access.log") },
    ] {
        let error = run(&options).unwrap_err();
        assert!(matches!(error, Error::Options(_)) && !store.exists(), "{error}");
    }
}

#[test]
fn rejected_lines_have_reasons_and_too_many_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let good = "203.0.113.9 2026-11-28 23:12:14 /a 200\n".repeat(300);
    let fields = "#Fields: c-ip date time cs-uri-stem sc-status\n";
    let bad = "203.0.113.9 2026-11-28 25:12:14 /a 200\n- 2026-11-28 23:12:14 /a 200\n\
               203.0.113.9 2026-11-28 23:12:14 /a 2x0\n";
    let (imported, store) =
        of_text(folder.path(), SourceFormat::Iis, format!("{fields}{bad}{good}").as_bytes())
            .unwrap();
    assert_eq!(imported.counts.rejected, 3);
    let rejects = store.read::<RejectedRow>().unwrap();
    let reasons: BTreeMap<_, _> =
        rejects.iter().map(|row| (row.source_row, row.reason.as_str())).collect();
    assert_eq!(
        reasons,
        BTreeMap::from([
            (1, "the time cannot be read"),
            (2, "the line has no address"),
            (3, "the status is no number"),
        ])
    );
    assert_eq!(rejects[0].sample.as_str(), "000.0.000.0 0000-00-00 00:00:00 /a 000");
    let (file, other) = (folder.path().join("source"), folder.path().join("other"));
    std::fs::write(&file, format!("{fields}{bad}{}", &good[..4000])).unwrap();
    let options = import_options(&other, SourceFormat::Iis, &[file]);
    let error = run(&options).unwrap_err();
    assert!(error.is_refusal() && !other.exists(), "{error}");
    let error = run(&ImportOptions { strict: true, ..options }).unwrap_err();
    assert!(!error.is_refusal() && !other.exists(), "{error}");
}
