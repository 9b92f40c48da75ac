//! `culprit-data sql` on stores and on folders with files that are no recordings.

use culprit_testkit::stderr;

use crate::site::Site;
use crate::support::{Lab, program};

fn sql(site: &Site, question: &str) -> serde_json::Value {
    let mut command = program(env!("CARGO_BIN_EXE_culprit-data"));
    command.args(["sql", "--json"]).arg(site.path("store")).arg(question);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hashes_and_halves_of_guids_have_no_sign() {
    let site = Site::sampled(300, "xdb-json");
    let high = "SELECT count(*) FROM interaction_ids WHERE guid_low >= 9223372036854775808";
    let all = "SELECT guid_low FROM interaction_ids ORDER BY ALL";
    let high = sql(&site, high)["rows"][0][0].as_u64().unwrap();
    let rows = sql(&site, all);
    assert_eq!(rows["columns"][0]["type"], "uint64", "{}", rows["columns"]);
    let halves: Vec<u64> =
        rows["rows"].as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert!(high > 50 && halves.len() == 300, "{high}");
    assert!(halves.is_sorted());
    assert_eq!(halves.iter().filter(|half| **half > i64::MAX.cast_unsigned()).count() as u64, high);
}

#[test]
fn a_broken_recording_of_a_folder_is_left_out_with_a_warning() {
    let lab = Lab::new();
    std::fs::write(lab.path("broken.culprit"), "nothing").unwrap();
    let output = lab.command(&[".", "SELECT count(*) FROM threads"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("recordings are not included"), "{}", stderr(&output));
    let named = lab.command(&["broken.culprit", "SELECT count(*) FROM threads"]).output().unwrap();
    assert_eq!(named.status.code(), Some(2));
}
