//! Values that need more than clap's own parsers: times with units, sizes, amounts of work.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use culprit_experiment::why::Work;
use culprit_model::{Label, Nanos, Time, UnknownLabel};
use culprit_record::DEFAULT_SAMPLING_BYTES;

use super::record::Allocations;

/// One of a closed list of words, each with its meaning for the help.
pub(crate) fn words<L>(meaning: fn(L) -> &'static str) -> impl TypedValueParser<Value = L>
where
    L: Label + FromStr<Err = UnknownLabel> + Send + Sync,
{
    let value = |label: &L| PossibleValue::new(label.word()).help(meaning(*label));
    let values: Vec<_> = L::ALL.iter().map(value).collect();
    PossibleValuesParser::new(values).try_map(|word| word.parse::<L>())
}

/// `12.5ms`, `3s`, `2m`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let value: f64 = number.trim().parse().map_err(|_| {
        format!("`{text}` is not a time; write a number and a unit, as in `12.5ms` or `3s`")
    })?;
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of time; use ns, us, ms, s, m or h, as in `12.5ms`"
            ));
        }
    };
    let nanos = value * scale;
    // 2^53 ns are 104 days: beyond it a float no longer counts single nanoseconds.
    if !(0.0..9.0e15).contains(&nanos) {
        return Err(format!(
            "`{text}` is not between 0 and 104 days; write it as in `12.5ms` or `3s`"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked"
    )]
    let nanos = nanos.round() as u64;
    Ok(Nanos(nanos))
}

/// `NAME=VALUE`, neither of them empty.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{text}` is not NAME=VALUE, as in `version=2.1`")),
    }
}

/// How long something may take: a duration that is not 0.
pub(crate) fn limit(text: &str) -> Result<Nanos, String> {
    match duration(text)? {
        Nanos::ZERO => Err("the time must be longer than 0, as in `10s` or `500ms`".to_owned()),
        length => Ok(length),
    }
}

/// A number of bytes: `1k`, `64m`, `2g` or `64KiB`, binary; a bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write it as in `4k`, `64m` or `2g`");
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.strip_suffix("ib").unwrap_or(&lower);
    let (number, shift) = match lower.strip_suffix(['k', 'm', 'g']) {
        Some(number) if lower.ends_with('k') => (number, 10),
        Some(number) if lower.ends_with('m') => (number, 20),
        Some(number) => (number, 30),
        None => (lower, 0),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// How allocations are recorded: `sampled`, `every`, or the mean number of bytes between two samples.
pub(crate) fn allocations(text: &str) -> Result<Allocations, String> {
    match text {
        "sampled" => Ok(Allocations::Sampled(DEFAULT_SAMPLING_BYTES)),
        "every" => Ok(Allocations::Every),
        _ => match size(text) {
            Ok(0) | Err(_) => {
                Err(format!("`{text}` is neither `sampled`, `every` nor a size such as `64KiB`"))
            }
            Ok(mean) => Ok(Allocations::Sampled(mean)),
        },
    }
}

/// A point in time, counted from the recording's start.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    duration(text).map(|length| Time(length.0))
}

/// `N:UNIT`, as in `8:rows`.
pub(crate) fn work(text: &str) -> Result<Work, String> {
    let form = || format!("`{text}` is not an amount of work; write it as in `8:rows`");
    let (amount, unit) = text.split_once(':').ok_or_else(form)?;
    let amount: f64 = amount.parse().map_err(|_| form())?;
    if !amount.is_finite() || amount <= 0.0 || unit.is_empty() {
        return Err(form());
    }
    Ok(Work { amount, unit: unit.to_owned() })
}

/// A file to write. `-` would make one of that name, which nobody means.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => {
            Err("`-` is not a file name here; write `/dev/stdout` for standard output, or `./-`"
                .to_owned())
        }
        path => Ok(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_units_and_bare_numbers_are_seconds() {
        let read = ["12.5ms", "3s", "3", "0.25", "7us", "40ns", "2m", "1h"]
            .map(|text| duration(text).map(|n| n.0));
        assert_eq!(
            read,
            [
                12_500_000,
                3_000_000_000,
                3_000_000_000,
                250_000_000,
                7_000,
                40,
                120_000_000_000,
                3_600_000_000_000
            ]
            .map(Ok)
        );
    }

    #[test]
    fn a_wrong_time_says_how_to_write_one() {
        for text in ["", "fast", "3 parsecs", "-1s", "1e30", "nan"] {
            let error = duration(text).unwrap_err();
            assert!(error.contains('`') && error.len() > 20, "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_binary() {
        let read = ["1k", "64M", "2g", "512", "64KiB"].map(|text| size(text).unwrap());
        assert_eq!(read, [1 << 10, 64 << 20, 2 << 30, 512, 64 << 10]);
        for text in ["", "k", "1.5k", "-1", "1t", "99999999999g"] {
            assert!(size(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn allocations_are_sampled_by_a_mean_or_all_recorded() {
        assert_eq!(allocations("sampled"), Ok(Allocations::Sampled(512 << 10)));
        assert_eq!(allocations("64KiB"), Ok(Allocations::Sampled(64 << 10)));
        assert_eq!(allocations("every"), Ok(Allocations::Every));
        for text in ["", "0", "all", "-1"] {
            assert!(allocations(text).is_err_and(|error| error.contains("`every`")), "{text}");
        }
    }

    #[test]
    fn a_limit_of_nothing_is_none() {
        assert!(limit("0").is_err() && limit("0.1ns").is_err());
        assert_eq!(limit("1ms"), Ok(Nanos(1_000_000)));
    }

    #[test]
    fn work_is_an_amount_and_a_unit() {
        let work_done = work("8:rows").unwrap();
        assert_eq!(work_done, Work { amount: 8.0, unit: "rows".to_owned() });
        assert!((work_done.rate(Nanos(400_000_000)) - 20.0).abs() < 1e-9);
        for text in ["8", "rows", "0:rows", "-1:rows", "8:", "inf:rows"] {
            assert!(work(text).is_err(), "{text}");
        }
    }
}
