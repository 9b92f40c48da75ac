//! `why`: kept runs in two places, from the rounds to the answer as text, document and page.

use std::path::Path;

use culprit_experiment::why::WhyResults;
use culprit_experiment::{Recorded, Round, Rounds, Trials};
use culprit_report::experiment::{WhyDocument, why_text};

use super::pack::{self, corpus};
use super::snapshot::Snapshots;
use super::stored;
use crate::args::{self, Command, WhyArgs};
use crate::commands::why_page;
use crate::output::Output;
use crate::settings::Settings;
use crate::why::plan;

/// The arguments that the runs were made with.
const ARGUMENTS: &str = "arguments.json";

fn parse(words: &[String]) -> WhyArgs {
    let cli = args::parse(&Settings::none(), words).unwrap_or_else(|_| panic!("{words:?}"));
    match cli.command {
        Command::Why(args) => args,
        other => panic!("{other:?}"),
    }
}

/// The results of kept runs.
fn results(folder: &Path) -> WhyResults {
    let words = std::fs::read(folder.join(ARGUMENTS)).expect("the arguments");
    let words: Vec<String> = serde_json::from_slice(&words).expect("a list of words");
    let args = WhyArgs { output: Some(folder.to_path_buf()), ..parse(&words) };
    let plan = plan(&args, None).expect("a plan");
    let arms = plan.experiment.arm_places();
    let trials = (0..plan.request.runs).flat_map(|number| Round::new(&arms, number).trials);
    let runs = trials.map(|trial| {
        let (file, _) = plan.experiment.files(folder, trial);
        let run = Recorded::read(&file, &plan.label(trial.place)).expect("a kept run");
        (trial, run)
    });
    let recorded = Rounds { runs: runs.collect(), ..Rounds::default() };
    let trials = Trials { recorded, ..Trials::default() };
    WhyResults::new(&plan, &trials, args.all, Vec::new())
}

#[test]
fn a_follower_that_polls_on_an_overlay_is_told() {
    let name = "why/tail-poll";
    let files = pack::read(&corpus().join(format!("{name}{}", pack::SUFFIX)));
    assert!(!files.is_empty(), "no runs of {name}: record with `make corpus ONLY={name}`");
    let folder = tempfile::tempdir().expect("a folder");
    pack::unpack(&files, folder.path());
    let results = results(folder.path());
    let output = Output::unread(false);
    let document = serde_json::to_value(WhyDocument::new(&results)).expect("a document");
    let number = |pointer: &str| {
        let value = document.pointer(pointer).and_then(serde_json::Value::as_f64);
        value.unwrap_or_else(|| panic!("{pointer} is no number: {document}"))
    };
    assert_eq!(document["verdict"], "slower", "{document}");
    assert!(number("/ratio/value") > 3.0, "{}", document["ratio"]);
    assert!(number("/explained_share") > 0.8, "{document}");
    let row = &document["difference"][0];
    assert_eq!((&row["cause"], &row["process"]), (&"blocked.sleep".into(), &"tail".into()));
    let findings = document["findings"].as_array().expect("findings");
    let culprit = findings.iter().find(|finding| finding["cost_ns"].as_f64() > Some(0.0));
    assert_eq!(culprit.expect("a culprit")["id"], "poll-sleep-loop", "{document}");
    assert!(number("/instead/gains/1/times_as_fast") > 3.0, "{}", document["instead"]);

    let page = why_page(&results, &output).expect("a page");
    assert!(page.contains("Place against place"));
    let plain = |text: &str| text.replace(&folder.path().display().to_string(), "FOLDER");
    let mut snapshots = Snapshots::default();
    snapshots.hold(&stored(name), &plain(&why_text(&results, output.layout())));
    let pretty = serde_json::to_string_pretty(&document).expect("JSON");
    snapshots.hold(&stored(name).with_extension("json"), &(plain(&pretty) + "\n"));
    snapshots.finish();
}
