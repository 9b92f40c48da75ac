//! `culprit doctor`: what this machine and its places allow.

use culprit_findings::{ImageLayer, ImageStored, ImageWaste, find_image};
use culprit_place::{FileSystem, PlaceFacts, PlaceSpec};
use culprit_report::json::{FindingJson, SCHEMA};
use culprit_report::text::{Detail, findings_text};
use serde::Serialize;

use super::checkup::{Checkup, checkup};
use crate::args::DoctorArgs;
use crate::doctor::{Check, State, System, examine};
use crate::failure::{Failure, Outcome};
use crate::output::{Align, Output, Table, bytes, clean, wrap};
use crate::{image, places};

/// What the recorder answers.
struct Rung {
    name: String,
    degraded: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// When the place that was asked for cannot be had.
pub(crate) fn run(args: &DoctorArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let place = args.place.as_deref().map(places::spec).transpose()?;
    let checks = examine(&System::this());
    let rung = rung();
    let facts = place.as_ref().map(facts).transpose()?;
    let progress = output.progress();
    let image = place.as_ref().and_then(image::named);
    let image = image.and_then(|image| match image::stored(image, &progress) {
        Ok(stored) => Some(stored),
        // All else that is known of the place is still worth telling.
        Err(failure) => {
            progress.clear();
            output.warn(&failure.to_string());
            None
        }
    });
    let measured = place.as_ref().filter(|_| !args.no_probes);
    let measured = measured.map(|place| checkup(place, output)).transpose()?;
    if output.wants_json() {
        output.document(&Document::new(
            &checks,
            &rung,
            facts.as_ref(),
            image.as_ref(),
            measured.as_ref(),
        ))?;
    } else {
        let mut text = text(&checks, &rung, facts.as_ref(), output);
        text.push_str(&image.map_or_else(String::new, |image| image_text(&image, output)));
        text.push_str(&measured.map_or_else(String::new, |told| checkup_text(&told, output)));
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

fn rung() -> Rung {
    let options = culprit_record::Options::new(culprit_record::Target::Command, "");
    match culprit_record::plan(options) {
        Ok(plan) => Rung { name: plan.rung().to_string(), degraded: plan.degraded().to_vec() },
        Err(error) => {
            Rung { name: "none".to_owned(), degraded: vec![crate::failure::chain(&error)] }
        }
    }
}

fn facts(spec: &PlaceSpec) -> Result<PlaceFacts, Failure> {
    let place = places::open(spec)?;
    place.facts().map_err(|error| places::failure(&error))
}

fn text(checks: &[Check], rung: &Rung, facts: Option<&PlaceFacts>, output: &Output) -> String {
    let paint = output.paint();
    let mut text = String::new();
    for check in checks {
        let word = format!("{:<9}", check.state.word());
        let word = match check.state {
            State::Fine => paint.good(&word),
            State::Degraded => paint.strong(&word),
            State::Missing => paint.bad(&word),
        };
        let indent = " ".repeat(31);
        let value = wrap(&check.value, output.width(), &indent);
        text.push_str(&format!("{word} {:<20} {}", check.id, value.trim_start()));
        if check.state != State::Fine {
            text.push_str(&wrap(&format!("without: {}", check.without), output.width(), &indent));
            text.push_str(&format!("{indent}lift:    {}\n", check.lift));
        }
    }
    text.push_str(&format!("\nAccess level of recordings here: `{}`.\n", paint.strong(&rung.name)));
    for reason in &rung.degraded {
        text.push_str(&wrap(reason, output.width(), "  "));
    }
    if let Some(facts) = facts {
        text.push_str(&place_text(facts));
    }
    text
}

fn place_text(facts: &PlaceFacts) -> String {
    let mut text = format!("\n{}\n", facts.place);
    for (name, value) in fact_rows(facts) {
        text.push_str(&format!("  {name:<14} {value}\n"));
    }
    for note in &facts.notes {
        text.push_str(&format!("  {note}\n"));
    }
    text
}

/// Files that are listed; the JSON has more.
const MOST_FILES: usize = 8;

/// An image's layers, and what is stored in vain or twice.
fn image_text(image: &ImageStored, output: &Output) -> String {
    let size = |size: u64| bytes(float(size));
    let mut table = Table::new(&[
        ("layer", Align::Right),
        ("size", Align::Right),
        ("files", Align::Right),
        ("hidden", Align::Right),
        ("made by", Align::Left),
    ]);
    for (at, layer) in image.layers.iter().enumerate() {
        let problem = layer.problem.as_ref().map(|problem| format!(" [{problem}]"));
        let made_by = format!("{}{}", layer.instruction, problem.unwrap_or_default());
        table.row([
            (at + 1).to_string(),
            size(layer.bytes),
            layer.files.to_string(),
            size(layer.vain_bytes),
            clean(&made_by).into_owned(),
        ]);
    }
    let mut text = format!("\n{}, {}\n", clean(&image.name), size(image.bytes));
    text.push_str(&table.render(output.width()));
    let findings = find_image(image, image::machine());
    if !findings.is_empty() {
        text.push_str(&findings_text(&findings, Detail::Titles, output.layout()));
    }
    if image.waste.is_empty() {
        text.push_str("  no hidden files and no duplicate files\n");
        return text;
    }
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("what", Align::Left),
        ("stored by", Align::Right),
        ("then by", Align::Right),
        ("file", Align::Left),
    ]);
    for one in image.waste.iter().take(MOST_FILES) {
        table.row([
            size(one.bytes),
            one.kind.word().to_owned(),
            (one.stored_by + 1).to_string(),
            (one.by + 1).to_string(),
            clean(&one.path).into_owned(),
        ]);
    }
    text.push_str(&table.render(output.width()));
    if image.waste_files > MOST_FILES {
        text.push_str(&format!("  and {} more\n", image.waste_files - MOST_FILES));
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold 9 PB")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

/// Says nothing that a few rounds should have told.
const UNCLEAR: &str = "unclear";

/// What is unusual there, as far as the cheap probes can tell.
fn checkup_text(told: &Checkup, output: &Output) -> String {
    if told.probes.is_empty() && told.left_out.is_empty() {
        return String::new();
    }
    let (probes, took) = (told.probes.join(", "), told.took.as_secs_f64());
    let mut text = if told.probes.is_empty() {
        "\nNothing could be measured against the host:\n".to_owned()
    } else {
        format!("\nMeasured against the host in {took:.0} s: {probes}\n")
    };
    for place in told.places.iter().filter(|place| place.id != UNCLEAR) {
        text.push_str(&wrap(&clean(&place.title), output.width(), "  "));
    }
    if !told.causes.is_empty() {
        text.push_str(&findings_text(&told.causes, Detail::Titles, output.layout()));
    } else if !told.probes.is_empty() {
        text.push_str("  these measurements show nothing unusual\n");
    }
    for line in told.facts.iter().chain(&told.left_out) {
        text.push_str(&wrap(&clean(line), output.width(), "  "));
    }
    text.push_str("  more: culprit bench --help\n");
    text
}

/// A place's facts as names and values; also what a recording keeps of them.
fn fact_rows(facts: &PlaceFacts) -> Vec<(&'static str, String)> {
    let system = |found: &FileSystem| {
        format!("{} (type {:#x}) at {}", found.kind, found.magic, found.mount_point.display())
    };
    let told = |found: Option<String>| found.unwrap_or_else(|| "none".to_owned());
    vec![
        ("work folder", facts.work_dir.display().to_string()),
        ("its files", told(facts.work.as_ref().map(system))),
        ("root's files", told(facts.root.as_ref().map(system))),
        ("kernel", facts.kernel.clone()),
        ("CPUs", facts.cpus.to_string()),
        (
            "CPU quota",
            told(facts.cpu_quota_ns.map(|(time, period)| format!("{time} ns in {period} ns"))),
        ),
        ("memory limit", told(facts.memory_limit_bytes.map(|bytes| format!("{bytes} bytes")))),
        ("seccomp", facts.seccomp.to_string()),
        ("network", facts.network.clone()),
    ]
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    rung: String,
    degraded: Vec<String>,
    checks: Vec<CheckJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<ImageJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredJson>,
}

#[derive(Serialize)]
struct ImageJson {
    name: String,
    architecture: Option<String>,
    bytes: u64,
    vain_bytes: u64,
    copied_bytes: u64,
    layers: Vec<LayerJson>,
    waste: Vec<WasteJson>,
    waste_files: usize,
    findings: Vec<FindingJson>,
}

#[derive(Serialize)]
struct LayerJson {
    instruction: String,
    bytes: u64,
    files: u64,
    vain_bytes: u64,
    problem: Option<String>,
}

#[derive(Serialize)]
struct WasteJson {
    path: String,
    bytes: u64,
    kind: &'static str,
    stored_by: usize,
    by: usize,
}

#[derive(Serialize)]
struct MeasuredJson {
    probes: Vec<&'static str>,
    findings: Vec<FindingJson>,
    facts: Vec<String>,
    left_out: Vec<String>,
    took_ns: u64,
}

#[derive(Serialize)]
struct CheckJson {
    id: &'static str,
    value: String,
    state: &'static str,
    without: &'static str,
    lift: &'static str,
}

#[derive(Serialize)]
struct PlaceJson {
    place: String,
    work_dir: String,
    work_fs: Option<String>,
    work_fs_magic: Option<u64>,
    root_fs: Option<String>,
    cpus: u32,
    cpu_quota_ns: Option<u64>,
    cpu_period_ns: Option<u64>,
    memory_limit_bytes: Option<u64>,
    seccomp: String,
    network: String,
    notes: Vec<String>,
}

impl Document {
    fn new(
        checks: &[Check],
        rung: &Rung,
        facts: Option<&PlaceFacts>,
        image: Option<&ImageStored>,
        measured: Option<&Checkup>,
    ) -> Self {
        let check = |check: &Check| CheckJson {
            id: check.id,
            value: check.value.clone(),
            state: check.state.word(),
            without: check.without,
            lift: check.lift,
        };
        Self {
            schema: SCHEMA,
            rung: rung.name.clone(),
            degraded: rung.degraded.clone(),
            checks: checks.iter().map(check).collect(),
            place: facts.map(PlaceJson::from),
            image: image.map(ImageJson::from),
            measured: measured.map(MeasuredJson::from),
        }
    }
}

impl From<&ImageStored> for ImageJson {
    fn from(image: &ImageStored) -> Self {
        let layer = |layer: &ImageLayer| LayerJson {
            instruction: layer.instruction.clone(),
            bytes: layer.bytes,
            files: layer.files,
            vain_bytes: layer.vain_bytes,
            problem: layer.problem.clone(),
        };
        let waste = |one: &ImageWaste| WasteJson {
            path: one.path.clone(),
            bytes: one.bytes,
            kind: one.kind.word(),
            stored_by: one.stored_by + 1,
            by: one.by + 1,
        };
        Self {
            name: image.name.clone(),
            architecture: image.architecture.clone(),
            bytes: image.bytes,
            vain_bytes: image.vain_bytes,
            copied_bytes: image.copied_bytes,
            layers: image.layers.iter().map(layer).collect(),
            waste: image.waste.iter().map(waste).collect(),
            waste_files: image.waste_files,
            findings: find_image(image, image::machine()).iter().map(FindingJson::from).collect(),
        }
    }
}

impl From<&Checkup> for MeasuredJson {
    fn from(told: &Checkup) -> Self {
        let findings = told.places.iter().chain(&told.causes);
        Self {
            probes: told.probes.clone(),
            findings: findings.map(FindingJson::from).collect(),
            facts: told.facts.clone(),
            left_out: told.left_out.clone(),
            took_ns: u64::try_from(told.took.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

impl From<&PlaceFacts> for PlaceJson {
    fn from(facts: &PlaceFacts) -> Self {
        Self {
            place: facts.place.to_string(),
            work_dir: facts.work_dir.display().to_string(),
            work_fs: facts.work.as_ref().map(|found| found.kind.clone()),
            work_fs_magic: facts.work.as_ref().map(|found| found.magic),
            root_fs: facts.root.as_ref().map(|found| found.kind.clone()),
            cpus: facts.cpus,
            cpu_quota_ns: facts.cpu_quota_ns.map(|(time, _)| time),
            cpu_period_ns: facts.cpu_quota_ns.map(|(_, period)| period),
            memory_limit_bytes: facts.memory_limit_bytes,
            seccomp: facts.seccomp.to_string(),
            network: facts.network.clone(),
            notes: facts.notes.clone(),
        }
    }
}
