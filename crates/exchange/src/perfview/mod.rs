//! PerfView's exchange format: a list of samples, each with a time, an amount and a stack, as XML
//! or JSON, plain or zipped (`.perfView.xml.zip`).
//!
//! Process, thread and the reason of a wait are frames of the stack like others, so they stay that.
//! Times count from the trace's start in milliseconds. What the amounts count is not said, only
//! whether they are times (`ScalingPolicy`, at the end of views that PerfView saved; lists that other
//! programs wrote are taken for times, as PerfView takes them).

mod json;
mod write;
mod xml;

use culprit_model::{Cause, LossKind, Metric, StackId};

use crate::builder::{Amount, Builder};
use crate::decimal::Decimal;
use crate::format::Spec;
use crate::weights::{Unit, Weights};

pub(crate) const XML: Spec = Spec {
    extensions: &["perfView.xml", "perfView.xml.zip"],
    about: "PerfView's views and lists of samples as XML, plain or zipped",
    detect: xml::detect,
    read: Some(xml::read),
    write: Some(write::write),
};

pub(crate) const JSON: Spec = Spec {
    extensions: &["perfView.json", "perfView.json.zip"],
    about: "PerfView's lists of samples as JSON, plain or zipped",
    detect: json::detect,
    read: Some(json::read),
    write: None,
};

/// One sample as the file says it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    /// Milliseconds from the trace's start.
    time: f64,
    /// Milliseconds or an amount.
    metric: f64,
    stack: Option<StackId>,
}

/// What the amounts of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scaling {
    /// Times, in milliseconds: a sample covers the time from its own on.
    Time,
    /// Amounts of something, at one instant.
    Data,
}

/// Nanoseconds, or none for what is no time of a trace.
fn nanoseconds(milliseconds: f64) -> Option<u64> {
    whole(milliseconds * 1e6)
}

/// The nearest whole number; none for what is negative, endless or no number.
fn whole(value: f64) -> Option<u64> {
    /// Within this every whole number of the file is exact.
    const MOST: f64 = 9e15;
    let value = value.round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (0.0..MOST).contains(&value).then_some(value as u64)
}

/// Adds the samples of a file.
fn add(builder: &mut Builder, samples: &[Sample], scaling: Scaling) {
    builder.starts_at(0);
    let mut odd = 0;
    let mut weights = Weights::new(match scaling {
        Scaling::Time => Unit::Metric(6),
        Scaling::Data => Unit::Free,
    });
    for sample in samples {
        let (Some(time), Some(weight)) =
            (nanoseconds(sample.time), Decimal::from_f64(sample.metric))
        else {
            odd += 1;
            continue;
        };
        let amount = match scaling {
            Scaling::Time => {
                let cause = cause(builder, sample.stack);
                Amount { cause, ..Amount::at(sample.stack, Metric::Wall, 0) }
            }
            Scaling::Data => Amount::at(sample.stack, Metric::Amount, 0),
        };
        weights.push(Amount { time, ..amount }, weight);
    }
    weights.finish(builder, |builder, amount| {
        let duration = if scaling == Scaling::Time { amount.value } else { 0 };
        builder.add(Amount { duration, ..amount });
    });
    if odd > 0 {
        let what = "samples whose time or amount is not a number, or whose time is negative";
        builder.lose(LossKind::RecordsMalformed, odd, what);
    }
}

/// Why a stack's time passed, if its leaf frame says so: PerfView's thread time ends each stack
/// in a frame that is no code.
fn cause(builder: &mut Builder, stack: Option<StackId>) -> Option<Cause> {
    let recording = builder.recording();
    let mut frames = recording.stack(stack?).map(|frame| recording.frame(frame));
    let leaf = frames.next().filter(|frame| frame.module.is_none())?;
    let caller = frames.next().and_then(|frame| frame.module);
    let kernel = caller.is_some_and(|module| recording.module(module).name.starts_with("[kernel"));
    match leaf.function.as_str() {
        "CPU_TIME" if kernel => Some(Cause::CpuKernel),
        "CPU_TIME" => Some(Cause::CpuUser),
        "BLOCKED_TIME" | "LAST_BLOCK (Last blocking operation in trace)" | "AWAIT_TIME" => {
            Some(Cause::Other)
        }
        "READIED_TIME (waiting for cpu)" => Some(Cause::Runnable),
        "DISK_TIME" => Some(Cause::Disk),
        "HARD_FAULT" => Some(Cause::Fault),
        "NETWORK_TIME (probably)" => Some(Cause::Net),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_become_whole_nanoseconds() {
        assert_eq!(nanoseconds(0.1), Some(100_000));
        assert_eq!(nanoseconds(135.5006), Some(135_500_600));
        assert_eq!(nanoseconds(-1.0), None);
        assert_eq!(nanoseconds(f64::NAN), None);
        assert_eq!(nanoseconds(f64::INFINITY), None);
        assert_eq!(whole(-0.0), Some(0));
    }

    #[test]
    fn negative_amounts_are_told_with_their_sum() {
        let losses = |metrics: &[f64], scaling| {
            let mut builder = Builder::default();
            let sample = |metric: &f64| Sample { time: 1.0, metric: *metric, stack: None };
            add(&mut builder, &metrics.iter().map(sample).collect::<Vec<_>>(), scaling);
            let kept: u64 = builder.recording().costs.iter().map(|cost| cost.value).sum();
            let of = |row: &culprit_model::Loss| (row.kind, row.count, row.detail.to_string());
            (kept, builder.recording().losses.iter().map(of).collect::<Vec<_>>())
        };
        let (kept, lost) = losses(&[2.0, -1.5, -0.5, 1.0], Scaling::Time);
        assert_eq!((kept, lost.len(), lost[0].0), (3_000_000, 1, LossKind::ValuesNegative));
        assert!(lost[0].1 == 2 && lost[0].2.contains("together -2.00 ms:"), "{lost:?}");
        let (kept, lost) = losses(&[7.0, -3.0, f64::NAN, -0.0], Scaling::Data);
        assert_eq!((kept, lost[0].1, lost[1].1), (7, 1, 1));
        assert!(lost[0].2.contains("together -3:"), "{lost:?}");
        assert_eq!(losses(&[1.0], Scaling::Data), (1, vec![]));
        // Amounts with a fraction keep it.
        let (kept, lost) = losses(&[0.25; 10], Scaling::Data);
        assert_eq!((kept, lost[0].0), (250, LossKind::MetricGuessed));
    }
}
