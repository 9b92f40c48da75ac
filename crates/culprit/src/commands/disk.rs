//! `culprit bench disk`: options or another tool's definition to a workload on a file.

use std::time::Duration;

use culprit_model::Nanos;
use culprit_probe::probes::disk::definitions::{diskspd, fio};
use culprit_probe::probes::disk::{Disk, Engine, Files, Spec};
use culprit_report::probe::DiskDocument;

use super::probe;
use crate::args::DiskArgs;
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::{Layout, Output, clean, wrap};

/// Runs it.
///
/// # Errors
/// When the options or the definition make no sense; as all probes otherwise.
pub(super) fn run(args: &DiskArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (mut spec, remarks) = defined(args)?;
    change(&mut spec, args);
    spec.check().map_err(|fault| Failure::bad_input(fault.what).hints(fault.hint))?;
    let files = if args.same_file { Files::Shared } else { Files::OwnEachRound };
    let words = (spec.words(), remarks.clone());
    let disk = Disk::new(spec, files, remarks).map_err(|error| probe::failure(&error))?;
    if args.explain {
        return explain(&disk, &words.0, &words.1, output);
    }
    probe::run(Box::new(disk), &args.probe, output)
}

fn explain(
    disk: &Disk,
    words: &[String],
    remarks: &[String],
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let lines = words.iter().chain(remarks);
    let text = |layout: &Layout| {
        lines.map(|line| wrap(&clean(&format!("{line}.")), layout.width(), "  ")).collect()
    };
    output.show(|| DiskDocument::new(disk, words, remarks), text)?;
    Ok(Outcome::Done)
}

/// What another tool's definition says, and what is to be said about it; the default without one.
fn defined(args: &DiskArgs) -> Result<(Spec, Vec<String>), Failure> {
    let definition = match (&args.diskspd, &args.fio) {
        (Some(line), _) => diskspd::parse(line),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .or_bad_input(|| format!("cannot read the job file `{}`", path.display()))?;
            fio::parse(&text)
        }
        (None, None) => return Ok((Spec::default(), Vec::new())),
    };
    let definition = definition
        .map_err(|fault| Failure::bad_input(fault.what.clone()).hints(fault.hint.clone()))?;
    let mut remarks = definition.notes;
    if let Some(target) = definition.target {
        remarks.push(format!("`{target}` is not used: this probe writes a file of its own"));
    }
    Ok((definition.spec, remarks))
}

/// Options count more than a definition.
fn change(spec: &mut Spec, args: &DiskArgs) {
    let time = |time: Nanos| Duration::from_nanos(time.0);
    set(&mut spec.block, args.block);
    set(&mut spec.threads, args.threads);
    set(&mut spec.depth, args.depth);
    set(&mut spec.batch, args.batch);
    set(&mut spec.access, args.pattern);
    set(&mut spec.write_share, args.write);
    set(&mut spec.size, args.size);
    set(&mut spec.cache, args.cache);
    set(&mut spec.warmup, args.ramp.map(time));
    set(&mut spec.duration, args.duration.map(time));
    set(&mut spec.cooldown, args.cool_down.map(time));
    set(&mut spec.seed, args.seed);
    spec.align = args.align.or(spec.align);
    spec.working_set = args.working_set.or(spec.working_set);
    spec.rate = args.rate.or(spec.rate);
    spec.drop_cache |= args.drop_cache;
    if !args.hot.is_empty() {
        spec.hot.clone_from(&args.hot);
    }
    match args.engine {
        Some(engine) => spec.engine = engine,
        // Only one of the engines can keep several in flight.
        None if args.depth.is_some_and(|depth| depth > 1) => spec.engine = Engine::IoUring,
        None => {}
    }
}

fn set<T: Copy>(to: &mut T, asked: Option<T>) {
    if let Some(asked) = asked {
        *to = asked;
    }
}
