//! Scalars as go-yaml reads them, and how compose-go writes them as text (`fmt.Sprint`).
//!
//! Source: `internal/libyaml/resolver.go` of `go.yaml.in/yaml/v4`.

use super::scalar::{
    BINARY, DATE, HEXADECIMAL, NUMBER, OCTAL, TRUTH, Typed, digits, positional, whole,
};

/// What a scalar without quotes is; none of a text, and of infinite numbers, which Compose refuses.
pub(super) fn typed(text: &str) -> Option<Typed> {
    match text.bytes().next()? {
        b't' | b'T' | b'f' | b'F' => truth(text),
        b'.' => float(text),
        b'+' | b'-' | b'0'..=b'9' => {
            let plain = text.replace('_', "");
            let zero = || matches!(text, "-0" | "-0.0").then(|| Typed::new("-0", NUMBER));
            zero().or_else(|| date(text)).or_else(|| integer(&plain)).or_else(|| float(&plain))
        }
        _ => None,
    }
}

/// What it is to `go.yaml.in/yaml/v2`, which `sigs.k8s.io/yaml` has a copy of: `on`, `off`, `yes` and `no` are truth
/// values there. The text stays as it is written.
pub(super) fn typed_of_kubernetes(text: &str) -> Option<Typed> {
    let is_truth = ["yes", "no", "on", "off"].iter().any(|word| {
        let mut first = word.chars();
        let capital = first.next().map(|c| c.to_ascii_uppercase());
        let capital: String = capital.into_iter().chain(first).collect();
        text == *word || text == capital || text == word.to_ascii_uppercase()
    });
    let what = if is_truth { Some(TRUTH) } else { typed(text).map(|typed| typed.what) };
    what.filter(|what| *what != DATE).map(|what| Typed::new(text, what))
}

/// Whether a scalar is infinite or no number: Compose cannot write either as JSON.
pub(super) fn is_infinite(text: &str) -> bool {
    matches!(text, ".nan" | ".NaN" | ".NAN")
        || matches!(text.strip_prefix(['+', '-']).unwrap_or(text), ".inf" | ".Inf" | ".INF")
}

fn truth(text: &str) -> Option<Typed> {
    match text {
        "true" | "True" | "TRUE" => Some(Typed::new("true", TRUTH)),
        "false" | "False" | "FALSE" => Some(Typed::new("false", TRUTH)),
        _ => None,
    }
}

/// `strconv.ParseInt` with base 0, then `ParseUint`.
fn integer(text: &str) -> Option<Typed> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = rest.to_ascii_lowercase();
    let (base, digits, what) = if let Some(digits) = lower.strip_prefix("0b") {
        (2, digits, BINARY)
    } else if let Some(digits) = lower.strip_prefix("0x") {
        (16, digits, HEXADECIMAL)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (8, digits, OCTAL)
    } else if rest.len() > 1 && rest.starts_with('0') {
        (8, &lower[1..], OCTAL)
    } else {
        (10, lower.as_str(), NUMBER)
    };
    let written = whole(negative, digits, base)?;
    // `ParseUint` takes no sign.
    let number: i128 = written.parse().ok()?;
    let most = if text.len() > rest.len() { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
    (i128::from(i64::MIN)..=most).contains(&number).then(|| Typed::new(written, what))
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn float(text: &str) -> Option<Typed> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix(['-', '+']).unwrap_or(exponent))
        }
        None => (unsigned, "0"),
    };
    let of_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some((before, behind)) => {
            of_digits(before) && of_digits(behind) && !(before.is_empty() && behind.is_empty())
        }
        None => !mantissa.is_empty() && of_digits(mantissa),
    };
    if !is_mantissa || exponent.is_empty() || !of_digits(exponent) {
        return None;
    }
    // Go refuses what is too large, and the scalar stays a text.
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    Some(Typed::new(written(number), NUMBER))
}

/// `%v` of a number with a point.
fn written(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number == 0.0 {
        return format!("{sign}0");
    }
    let (digits, exponent) = digits(number);
    if (-4..MOST_DIGITS).contains(&exponent) {
        return format!("{sign}{}", positional(&digits, exponent));
    }
    let point = if digits.len() > 1 { "." } else { "" };
    let sign_of_exponent = if exponent < 0 { '-' } else { '+' };
    let (first, behind) = digits.split_at(1);
    format!("{sign}{first}{point}{behind}e{sign_of_exponent}{:02}", exponent.abs())
}

/// From this power of ten on, the shortest form has an exponent (`strconv.FormatFloat`).
const MOST_DIGITS: i32 = 6;

/// `2001-12-14`, and with `T`, `t` or a blank a time behind it.
fn date(text: &str) -> Option<Typed> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let mut parts = day.splitn(3, '-');
    let (year, month, of_month) = (parts.next()?, parts.next()?, parts.next()?);
    let year = number(year, 4..=4)?;
    let (month, of_month) = (number(month, 1..=2)?, number(of_month, 1..=2)?);
    if of_month == 0 || of_month > days_of(year, month)? {
        return None;
    }
    let day = format!("{year:04}-{month:02}-{of_month:02}");
    let Some(time) = time else {
        return Some(Typed::new(format!("{day} 00:00:00 +0000 UTC"), DATE));
    };
    let has_zone = !text.contains(' ');
    let (clock, zone) = match time.find(['Z', '+', '-']).filter(|_| has_zone) {
        Some(at) => (&time[..at], of_zone(&time[at..])?),
        None if has_zone => return None,
        None => (time, "+0000 UTC".to_owned()),
    };
    Some(Typed::new(format!("{day} {} {zone}", of_clock(clock)?), DATE))
}

fn number(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let fits = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

fn days_of(year: u32, month: u32) -> Option<u32> {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if is_leap { 29 } else { 28 }),
        _ => None,
    }
}

/// `15:4:5.999999999`, with a fraction or without.
fn of_clock(text: &str) -> Option<String> {
    let (whole, fraction) = match text.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let mut parts = whole.splitn(3, ':');
    let mut below = |end: u32| number(parts.next()?, 1..=2).filter(|part| *part < end);
    let (hour, minute, second) = (below(24)?, below(60)?, below(60)?);
    let fraction = match fraction {
        None => "",
        Some(digits) if digits.is_empty() || !digits.bytes().all(|one| one.is_ascii_digit()) => {
            return None;
        }
        Some(digits) => digits.get(..9).unwrap_or(digits).trim_end_matches('0'),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{hour:02}:{minute:02}:{second:02}{point}{fraction}"))
}

/// `Z`, or an offset such as `-05:30`.
fn of_zone(text: &str) -> Option<String> {
    if text == "Z" {
        return Some("+0000 UTC".to_owned());
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (number(hours, 2..=2)?, number(minutes, 2..=2)?);
    if hours > 24 || minutes > 60 {
        return None;
    }
    if hours == 0 && minutes == 0 {
        return Some("+0000 UTC".to_owned());
    }
    let zone = format!("{sign}{hours:02}{minutes:02}");
    Some(format!("{zone} {zone}"))
}
