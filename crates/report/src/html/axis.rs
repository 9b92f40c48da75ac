//! An axis: which values it spans, where a value lies on it, and which ticks it has.
//!
//! Ticks are round numbers within the span: of a linear axis steps of 1, 2 or 5, of a logarithmic one
//! decades with as many parts as there is room for; bytes go by powers of two.

use culprit_model::Unit;

/// Values whose greatest is this many times their least are read better by their logarithms.
const WIDE: f64 = 20.0;
/// What stays free at both ends, as a share of the span.
const MARGIN: f64 = 0.05;
/// More labels than this run into each other on the narrowest plot.
const MOST_TICKS: usize = 7;
/// Fewer ticks than this do not tell a logarithmic axis' scale.
const LEAST_TICKS: usize = 3;
/// Nothing measured is larger, and nothing but 0 smaller than its inverse; up to here no sum and no
/// ratio of two values overflows.
const LARGEST: f64 = 1e100;

/// Where values lie between two ends in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

/// A value on an axis that is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// Where it lies.
    pub at: f64,
    /// What stands there.
    pub label: String,
}

impl Axis {
    /// For these values, linear unless they are far apart.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        if low > 0.0 && high / low > WIDE {
            return Self::log([low, high], from, to);
        }
        let room = if high > low { MARGIN * (high - low) } else { MARGIN * high.abs().max(1.0) };
        // Nothing that is measured is negative: the axis of small values begins at 0.
        let least = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        Self { low: least, high: high + room, log: false, from, to }
    }

    /// Linear from exactly `low` to exactly `high`.
    #[must_use]
    pub const fn linear((low, high): (f64, f64), from: f64, to: f64) -> Self {
        Self { low, high, log: false, from, to }
    }

    /// By the logarithm of these values; what is not positive has none and is left out.
    #[must_use]
    pub fn log(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let positive = positive.map(|value| value.max(1.0 / LARGEST));
        let (low, high) = range(positive).unwrap_or((1.0, 10.0));
        let room = if high > low { (high / low).powf(MARGIN) } else { 1.0 + MARGIN };
        Self { low: low / room, high: high * room, log: true, from, to }
    }

    /// Whether equal distances are equal factors.
    #[cfg(test)]
    #[must_use]
    pub const fn is_log(&self) -> bool {
        self.log
    }

    /// Where a value lies; one beyond an end lies at that end.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let share = if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// The ticks, from the least to the greatest.
    #[must_use]
    pub fn ticks(&self, unit: Unit) -> Vec<Tick> {
        let by_factors = if self.log { self.factors(unit) } else { Vec::new() };
        let (values, step) =
            if by_factors.len() < LEAST_TICKS { self.steps(unit) } else { (by_factors, None) };
        let largest = values.last().copied().unwrap_or_default();
        let tick = |value: f64| {
            let label = match step {
                Some(step) => step_label(unit, value, largest, step),
                None => round_label(unit, value),
            };
            Tick { value, at: self.at(value), label }
        };
        values.into_iter().map(tick).collect()
    }

    fn has(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Equal steps, and how long one is.
    fn steps(&self, unit: Unit) -> (Vec<f64>, Option<f64>) {
        let (scale, _) = scale(unit, self.high);
        let step = nice((self.high - self.low) / scale / 6.0) * scale;
        let mut values = Vec::new();
        let mut count = (self.low / step).ceil();
        while self.has(count * step) && values.len() <= MOST_TICKS {
            values.push(count * step);
            count += 1.0;
        }
        (values, Some(step))
    }

    /// As many round numbers at about equal factors as there is room for.
    fn factors(&self, unit: Unit) -> Vec<f64> {
        const PARTS: [&[f64]; 3] =
            [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 5.0], &[1.0]];
        let base: f64 = if is_bytes(unit) { 2.0 } else { 10.0 };
        let parts = if is_bytes(unit) { &PARTS[2..] } else { &PARTS[..] };
        let fine = parts.iter().map(|parts| self.powers(base, 1.0, parts));
        let coarse = (2_u8..=64).map(|stride| self.powers(base, f64::from(stride), &[1.0]));
        fine.chain(coarse).find(|values| values.len() <= MOST_TICKS).unwrap_or_default()
    }

    /// `part * base^e` for every `stride`th exponent.
    fn powers(&self, base: f64, stride: f64, parts: &[f64]) -> Vec<f64> {
        let mut values = Vec::new();
        let mut exponent = (self.low.log(base) / stride).floor() * stride;
        let last = self.high.log(base);
        while exponent <= last {
            values.extend(parts.iter().map(|part| part * base.powf(exponent)));
            exponent += stride;
        }
        values.retain(|value| self.has(*value));
        values
    }
}

/// The least and the greatest of what is finite.
fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let finite = finite.map(|value| value.clamp(-LARGEST, LARGEST));
    finite.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// The nearest of 1, 2, 5, 10, … that is not less.
fn nice(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let part = value / decade;
    // What rounding adds to 2.0 does not make it 5.
    let nice = [1.0, 2.0, 5.0].into_iter().find(|nice| part <= nice * (1.0 + 1e-9));
    decade * nice.unwrap_or(10.0)
}

const fn is_bytes(unit: Unit) -> bool {
    matches!(unit, Unit::Bytes | Unit::BytesPerSecond)
}

/// What a value of about this size is told in: how many of the unit it has, and its name.
fn scale(unit: Unit, value: f64) -> (f64, &'static str) {
    const TIMES: [(f64, &str); 4] = [(1e9, " s"), (1e6, " ms"), (1e3, " us"), (1.0, " ns")];
    const BYTES: [(f64, &str); 5] = [
        (1_099_511_627_776.0, " TiB"),
        (1_073_741_824.0, " GiB"),
        (1_048_576.0, " MiB"),
        (1024.0, " KiB"),
        (1.0, " bytes"),
    ];
    const RATES: [(f64, &str); 5] = [
        (1_099_511_627_776.0, " TiB/s"),
        (1_073_741_824.0, " GiB/s"),
        (1_048_576.0, " MiB/s"),
        (1024.0, " KiB/s"),
        (1.0, " bytes/s"),
    ];
    let scales: &[(f64, &str)] = match unit {
        Unit::Nanos => &TIMES,
        Unit::Bytes => &BYTES,
        Unit::BytesPerSecond => &RATES,
        Unit::PerSecond => &[(1.0, "/s")],
        Unit::Count => &[(1.0, "")],
        Unit::Share => &[(0.01, " %")],
    };
    let fits = scales.iter().find(|(scale, _)| value >= scale * (1.0 - 1e-9));
    fits.or(scales.last()).copied().unwrap_or((1.0, ""))
}

/// With as many digits as tell one step from the next, and all in one scale.
fn step_label(unit: Unit, value: f64, largest: f64, step: f64) -> String {
    let (scale, name) = scale(unit, largest);
    let (mut digits, mut rest) = (0, step / scale);
    while rest < 1.0 - 1e-9 && digits < 9 {
        (digits, rest) = (digits + 1, rest * 10.0);
    }
    format!("{:.digits$}{name}", value / scale)
}

/// With one digit that counts, or all before the point.
fn round_label(unit: Unit, value: f64) -> String {
    step_label(unit, value, value, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, unit: Unit) -> Vec<String> {
        axis.ticks(unit).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let linear = |low: f64, high: f64| Axis::of([low, high], 0.0, 100.0);
        assert_eq!(
            labels(linear(1e6, 2e6), Unit::Nanos),
            ["1.0 ms", "1.2 ms", "1.4 ms", "1.6 ms", "1.8 ms", "2.0 ms"]
        );
        assert_eq!(
            labels(linear(0.0, 1.0), Unit::Share),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
        assert_eq!(
            labels(linear(2048.0, 8192.0), Unit::Bytes),
            ["2 KiB", "4 KiB", "6 KiB", "8 KiB"]
        );
        let log = |low: f64, high: f64| Axis::log([low, high], 0.0, 100.0);
        assert_eq!(
            labels(log(1e3, 1e8), Unit::Nanos),
            ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms"]
        );
        assert_eq!(labels(log(0.5, 4.0), Unit::Count), ["0.5", "1", "2"]);
        assert_eq!(labels(log(0.96, 1.05), Unit::Count), ["0.96", "0.98", "1.00", "1.02", "1.04"]);
        assert_eq!(labels(log(1024.0, 65_536.0), Unit::Bytes).first().unwrap(), "1 KiB");
    }

    #[test]
    fn ticks_lie_within_their_axis_in_order() {
        let ends = [1e-9, 0.003, 0.97, 1.0, 1.03, 7.0, 1e3, 1.000_001e3, 123_456.0, 3e15, 1e300];
        for (at, low) in ends.iter().enumerate() {
            for high in &ends[at..] {
                for axis in
                    [Axis::of([*low, *high], 10.0, 90.0), Axis::log([*low, *high], 10.0, 90.0)]
                {
                    let ticks = axis.ticks(Unit::Count);
                    assert!((1..=8).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
                    assert!(ticks.iter().all(|tick| (10.0..=90.0).contains(&tick.at)), "{ticks:?}");
                    assert!(
                        ticks.is_sorted_by(|a, b| a.value < b.value && a.at <= b.at),
                        "{ticks:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_on_an_axis_follow_the_values() {
        let axis = Axis::of([1.0, 1e6], 100.0, 500.0);
        assert!(axis.is_log() && !Axis::of([1.0, 19.0], 0.0, 1.0).is_log());
        assert!(!Axis::of([0.0, 1e6], 0.0, 1.0).is_log(), "0 has no logarithm");
        let places: Vec<f64> = (0..=6).map(|exponent| axis.at(10_f64.powi(exponent))).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert!((places[1] - places[0] - (places[6] - places[5])).abs() < 1e-6);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!((100.0..=500.0).contains(&axis.at(value)), "{value}");
        }
        let one = Axis::of([7.0; 3], 0.0, 100.0);
        assert!((one.at(7.0) - 50.0).abs() < 1e-9, "equal values lie in the middle");
    }
}
