//! `why`: kept runs in two places, from the rounds to the answer as text, document and page.

use std::path::Path;

use super::pack::{self, corpus};
use super::snapshot::Snapshots;
use super::stored;
use crate::args::{self, Command, WhyArgs};
use crate::commands::why_page;
use crate::json::WhyDocument;
use crate::output::Output;
use crate::rounds::{Recorded, Rounds, steps_of};
use crate::settings::Settings;
use crate::text::why_text;
use crate::why::{Answer, Plan};

/// The arguments that the runs were made with.
const ARGUMENTS: &str = "arguments.json";

fn parse(words: &[String]) -> WhyArgs {
    let cli = args::parse(&Settings::none(), words).unwrap_or_else(|_| panic!("{words:?}"));
    match cli.command {
        Command::Why(args) => args,
        other => panic!("{other:?}"),
    }
}

/// The answer of kept runs.
fn answer(folder: &Path) -> Answer {
    let words = std::fs::read(folder.join(ARGUMENTS)).expect("the arguments");
    let words: Vec<String> = serde_json::from_slice(&words).expect("a list of words");
    let args = WhyArgs { output: Some(folder.to_path_buf()), ..parse(&words) };
    let plan = Plan::new(&args, None).expect("a plan");
    let arms = plan.arm_places();
    let steps = (0..plan.runs).flat_map(|round| steps_of(&arms, round));
    let runs = steps.map(|step| {
        let (file, _) = plan.files(step);
        (step, Recorded::read(&file, &plan.label(step.place)))
    });
    let rounds = Rounds { runs: runs.collect(), ..Rounds::default() };
    Answer::new(&plan, &rounds, args.all)
}

#[test]
fn a_follower_that_polls_on_an_overlay_is_told() {
    let name = "why/tail-poll";
    let files = pack::read(&corpus().join(format!("{name}{}", pack::SUFFIX)));
    assert!(!files.is_empty(), "no runs of {name}: record with `make corpus ONLY={name}`");
    let folder = tempfile::tempdir().expect("a folder");
    pack::unpack(&files, folder.path());
    let answer = answer(folder.path());
    let output = Output::unread(false);
    let document = serde_json::to_value(WhyDocument::new(&answer)).expect("a document");
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

    let page = why_page(&answer, &output).expect("a page");
    assert!(page.contains("Place against place"));
    let plain = |text: &str| text.replace(&folder.path().display().to_string(), "FOLDER");
    let mut snapshots = Snapshots::default();
    snapshots.hold(&stored(name), &plain(&why_text(&answer, &output)));
    let pretty = serde_json::to_string_pretty(&document).expect("JSON");
    snapshots.hold(&stored(name).with_extension("json"), &(plain(&pretty) + "\n"));
    snapshots.finish();
}
