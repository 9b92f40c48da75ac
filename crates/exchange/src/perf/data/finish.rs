//! The end: thread time or samples, what was lost, and what the file says about itself.

use std::collections::BTreeSet;
use std::mem;

use culprit_model::{Loss, LossKind, SampleKind, SwitchKind, Text, Time};

use super::apply::{Apply, Tally};
use super::collect::Collector;
use super::events::{Events, Role};
use super::features::Facts;
use super::samples::cause;
use super::switches::Source;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::perf::event::lose_shared_metrics;

/// Rows of stretches in which switches were lost; those that follow are one row.
const MOST_HOLES: usize = 1 << 12;

/// Processes that are named of a namespace.
const MOST_NAMED: usize = 20;

pub(super) fn finish(collector: Collector<'_>) -> Result<(), Refusal> {
    let Collector { facts, mut apply, .. } = collector;
    let (events, tally) = (mem::take(&mut apply.events), mem::take(&mut apply.tally));
    tell_switches(&mut apply, &events, &tally);
    let recording = apply.builder.recording();
    if recording.costs.is_empty() && recording.switches.is_empty() {
        return Err("it contains no samples".to_owned());
    }
    apply.lose_stacks();
    lose(apply.builder, &events, &facts, &tally);
    describe(&mut apply, &facts, &events);
    Ok(())
}

/// Keeps the switches where time can be told from them; else makes samples of everything.
fn tell_switches(apply: &mut Apply<'_>, events: &Events, tally: &Tally) {
    let refusal = apply.switching.refusal();
    let kept = refusal.is_none() && !apply.builder.recording().switches.is_empty();
    if kept {
        keep_switches(apply);
    } else {
        samples_to_costs(apply, events);
        switches_to_costs(apply, events);
    }
    let builder = &mut *apply.builder;
    if let Some(why) = refusal {
        builder.lose(LossKind::DetailLeftOut, apply.switching.told, why);
    }
    for event in events.all.iter().filter(|event| event.seen > 0) {
        if event.is_sampled_switch() {
            let what = "sched:sched_switch was sampled: switches are missing, so Culprit cannot \
                        compute durations; record with -c 1";
            builder.lose(LossKind::DetailLeftOut, event.seen, what);
        } else if event.role == Role::Switch && apply.switching.source == Source::None {
            let what = "sched:sched_switch events whose layout or CPU is missing, so Culprit \
                        cannot compute durations";
            builder.lose(LossKind::DetailLeftOut, event.seen, what);
        }
    }
    if tally.switches > 0 && !kept && refusal.is_none() {
        let what = "switch records without matching thread times";
        builder.lose(LossKind::DetailLeftOut, tally.switches, what);
    }
}

fn keep_switches(apply: &mut Apply<'_>) {
    let mut holes: Vec<(u64, u64, u64)> =
        apply.switching.gaps.iter().map(|(from, to)| (*from, *to, 1)).collect();
    if apply.switching.source == Source::Records {
        holes.append(&mut apply.lost);
    }
    let recording = apply.builder.recording();
    // Nobody waits in an idle CPU.
    for thread in recording.threads.iter_mut().filter(|thread| thread.tid.0 == 0) {
        thread.recorded = false;
    }
    let mut ran = vec![false; recording.threads.len()];
    for switch in &recording.switches {
        ran[switch.thread.index()] = true;
    }
    for sample in &recording.samples {
        ran[sample.thread.index()] = true;
    }
    // Of threads that never ran, nothing says that they were recorded.
    for (thread, ran) in recording.threads.iter_mut().zip(ran) {
        thread.recorded &= ran;
    }
    let more = holes.split_off(holes.len().min(MOST_HOLES));
    let rest = more.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2));
    for (from, to, count) in holes.into_iter().chain(rest) {
        let span = (Some(Time(from)), Some(Time(to)));
        recording.losses.push(Loss {
            kind: LossKind::SwitchesLost,
            count,
            from: span.0,
            to: span.1,
            detail: Text::from("switches that are missing in the file"),
        });
    }
}

/// Clock samples as amounts of time.
fn samples_to_costs(apply: &mut Apply<'_>, events: &Events) {
    let clock = events.all.iter().find(|event| event.role == Role::Clock);
    let samples = mem::take(&mut apply.builder.recording().samples);
    let weights = mem::take(&mut apply.weights);
    for (sample, (value, weighed)) in samples.into_iter().zip(weights) {
        let Some(clock) = clock else { continue };
        let (metric, value) = clock.counts.value(weighed.then_some(value));
        apply.builder.add(Amount {
            time: sample.time.0,
            thread: Some(sample.thread),
            cause: cause(metric, sample.kind == SampleKind::Kernel),
            ..Amount::at(sample.stack, metric, value)
        });
    }
}

/// Switches as events like others, each at the stack where its thread left.
fn switches_to_costs(apply: &mut Apply<'_>, events: &Events) {
    let number = events.all.iter().position(|event| event.role == Role::Switch);
    let Some((number, event)) = number.and_then(|at| Some((at, events.all.get(at)?))) else {
        return;
    };
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let switches = mem::take(&mut apply.builder.recording().switches);
    for switch in switches.into_iter().filter(|switch| switch.kind != SwitchKind::In) {
        let stack = apply.named(switch.stack, number);
        let (metric, value) = event.counts.value(Some(1));
        apply.builder.add(Amount {
            time: switch.time.0,
            thread: Some(switch.thread),
            ..Amount::at(stack, metric, value)
        });
    }
}

fn lose(builder: &mut Builder, events: &Events, facts: &Facts, tally: &Tally) {
    if !events.told_apart() {
        let what =
            "the file does not say which event a sample has: all samples count as the first event";
        builder.lose(LossKind::DetailLeftOut, events.all.len() as u64 - 1, what);
    }
    let seen = events.all.iter().filter(|event| event.seen > 0);
    let seen: BTreeSet<&str> = seen.map(|event| event.name.as_str()).collect();
    lose_shared_metrics(seen.into_iter(), builder);
    let in_holes = builder.recording().losses.iter().any(|row| row.kind == LossKind::SwitchesLost);
    let lost = if in_holes { 0 } else { tally.lost };
    for (kind, count, what) in [
        (LossKind::RecordsMalformed, tally.malformed, "malformed records"),
        (LossKind::FileDamaged, facts.damaged, "damaged sections about machine and events"),
        (LossKind::SamplesLost, lost, "records that perf lost while recording"),
        (
            LossKind::SamplesLost,
            tally.lost_samples,
            "samples that the kernel lost while recording (LOST_SAMPLES)",
        ),
        (LossKind::SamplingThrottled, tally.throttled, "times that the kernel throttled sampling"),
        (LossKind::SamplesLost, tally.beyond, "samples after the first 67 million"),
        (
            LossKind::DetailLeftOut,
            tally.aux_bytes,
            "bytes of hardware traces (AUX: Intel PT, ARM CoreSight or SPE), which Culprit does \
             not read",
        ),
        (
            LossKind::DetailLeftOut,
            tally.branches,
            "samples with branch stacks; Culprit reads only their call chains",
        ),
        (
            LossKind::AddressesUnknown,
            tally.guests,
            "samples in the guest of a virtual machine, whose code has no names",
        ),
        (
            LossKind::StacksTruncated,
            tally.deferred,
            "user call chains that the kernel delivered later (deferred), which Culprit does not \
             join",
        ),
        (LossKind::DetailLeftOut, tally.unknown_ids, "values of unknown counters"),
    ] {
        if count > 0 {
            builder.lose(kind, count, what);
        }
    }
}

/// What the file says about itself.
fn describe(apply: &mut Apply<'_>, facts: &Facts, events: &Events) {
    let spaces = namespaces(apply);
    let recording = apply.builder.recording();
    let meta = &mut recording.meta;
    meta.command = facts.command.clone();
    meta.kernel.clone_from(&facts.kernel);
    meta.cpus = facts.cpus;
    for (name, value) in [("host", &facts.host), ("machine", &facts.arch)] {
        if !value.is_empty() {
            meta.place_facts.push((name.to_owned(), value.clone()));
        }
    }
    if let Some(clock) = events.all.iter().find_map(|event| event.attr.clock_id()) {
        meta.place_facts.push(("clock".to_owned(), clock_name(clock)));
    }
    meta.place_facts.extend(spaces);
    if let Some(clock) = facts.clock {
        apply.builder.zero_is(clock.wall.wrapping_sub(clock.clock));
    }
}

/// The processes of each pid namespace but the recorder's own.
fn namespaces(apply: &mut Apply<'_>) -> Vec<(String, String)> {
    let own = apply.own_namespace;
    let spaces = mem::take(&mut apply.namespaces);
    let recording = apply.builder.recording();
    let name = |pid: &i32| {
        let row = recording.processes.iter().rfind(|row| i64::from(row.pid.0) == i64::from(*pid));
        row.map_or_else(|| pid.to_string(), |row| format!("{} ({pid})", row.name))
    };
    let others = spaces.iter().filter(|(inode, _)| Some(**inode) != own);
    others
        .map(|(inode, pids)| {
            let names: Vec<_> = pids.iter().take(MOST_NAMED).map(name).collect();
            let more = pids.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (format!("pid namespace {inode}"), format!("{}{more}", names.join(", ")))
        })
        .collect()
}

/// A clock by its number in time.h.
fn clock_name(clock: i32) -> String {
    let name = match clock {
        0 => "CLOCK_REALTIME",
        1 => "CLOCK_MONOTONIC",
        4 => "CLOCK_MONOTONIC_RAW",
        7 => "CLOCK_BOOTTIME",
        11 => "CLOCK_TAI",
        other => return other.to_string(),
    };
    name.to_owned()
}
