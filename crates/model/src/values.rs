//! Values as people read them, by their unit: `1.00 s`, `12.5 KiB`, `97 %`.

use crate::{Evidence, Nanos, Unit};

/// The value of a fact as people read it: `1.00 s`, `12.5 KiB`, `97 %`, `20.1 /s`, `8`.
#[must_use]
pub fn evidence_value(fact: &Evidence) -> String {
    measured(fact.value, &fact.unit)
}

/// A value of a unit as people read it.
#[must_use]
pub fn measured(value: f64, unit: &str) -> String {
    match unit {
        "ns" => signed_duration(value),
        "bytes" => bytes(value),
        "share" => percent(value),
        "1/s" => format!("{} /s", number(value)),
        "count" | "" => number(value),
        "factor" => format!("x {value:.2}"),
        "magic" => format!("{:#x}", whole(value)),
        "ratio" => format!("{value:.2} x"),
        unit => format!("{} {unit}", number(value)),
    }
}

/// A value of a probe's metric: `1.00 s`, `12.5 KiB/s`, `97 %`.
#[must_use]
pub fn unit_value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanos if value.abs() < 1000.0 => format!("{} ns", number(value)),
        Unit::Nanos => signed_duration(value),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Count => number(value),
        Unit::Share => percent(value),
    }
}

/// A number that is a name: counts of the kernel's own kind lie below 2^53.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative and too large ones become the nearest"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A length of time that may be negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest length; what is too long becomes the longest"
)]
#[must_use]
pub fn signed_duration(ns: f64) -> String {
    let length = Nanos(ns.abs().round() as u64);
    if ns < 0.0 { format!("-{length}") } else { length.to_string() }
}

/// `12.5 KiB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(scaled), UNITS[unit])
}

/// A number of bytes: `12.5 KiB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn size(count: u64) -> String {
    bytes(count as f64)
}

/// Three significant digits, whole numbers as such; two where a hundredth is not reached, so that a
/// ratio of a millisecond to a minute does not read as nothing.
#[must_use]
pub fn number(value: f64) -> String {
    // Nothing that is counted is -0, but the sum of no floats is.
    let value = value + 0.0;
    let size = value.abs();
    if (1e-9..0.01).contains(&size) {
        // -log10 of that lies within 2 and 9.
        let zeros = (2..9).take_while(|zeros| size < 10_f64.powi(-zeros)).count();
        format!("{value:.0$}", zeros + 3)
    } else if (value - value.round()).abs() < 1e-9 || size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// `97 %`, `0.4 %`: two digits are enough for people.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        return "<0.1 %".to_owned();
    }
    if percent >= 9.95 || percent <= 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_by_their_unit() {
        let show = |value: f64, unit: &str| {
            evidence_value(&Evidence { what: "x".into(), value, unit: unit.into() })
        };
        assert_eq!(show(1e9, "ns"), "1.00 s");
        assert_eq!(show(-2.5e6, "ns"), "-2.50 ms");
        assert_eq!(show(4096.0, "bytes"), "4 KiB");
        assert_eq!(show(0.973, "share"), "97 %");
        assert_eq!(show(19.84, "1/s"), "19.8 /s");
        assert_eq!(show(8.0, "count"), "8");
        assert_eq!(show(3.0, "threads"), "3 threads");
        assert_eq!(show(19.6, "ratio"), "19.60 x");
        assert_eq!(show(f64::from(0x794c_7630), "magic"), "0x794c7630");
        assert_eq!(show(0.95, "factor"), "x 0.95");
        assert_eq!(number(0.000_009_812), "0.0000098");
        assert_eq!(number(-0.0042), "-0.0042");
        assert_eq!(number(0.001), "0.0010");
        assert_eq!(number(-0.0), "0");
        assert_eq!(
            [size(0), size(1023), size(1536), size(5 << 30)],
            ["0 bytes", "1023 bytes", "1.50 KiB", "5 GiB"]
        );
    }
}
