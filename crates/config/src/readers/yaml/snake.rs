//! Scalars of YAML 1.1 as SnakeYAML reads them, and how Spring Boot writes them as text.
//!
//! Sources: `org.yaml.snakeyaml.resolver.Resolver`, `constructor.SafeConstructor`; Spring Boot's
//! `OriginTrackedYamlLoader` takes dates for texts. A number becomes a text by `Double.toString` of Java 19 and later.

use super::scalar::{
    BASE_60, BINARY, HEXADECIMAL, NUMBER, OCTAL, TRUTH, Typed, digits, positional, whole,
};

/// What a scalar without quotes is; none of a text.
pub(super) fn typed(text: &str) -> Option<Typed> {
    truth(text).or_else(|| integer(text)).or_else(|| decimal(text))
}

fn truth(text: &str) -> Option<Typed> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Typed::new("true", TRUTH))
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Typed::new("false", TRUTH))
        }
        _ => None,
    }
}

/// A sign, and what follows.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(text: &str) -> Option<Typed> {
    let (negative, rest) = signed(text);
    let plain = rest.replace('_', "");
    // `_1` is a text, and `0_1` and `0x_1` are numbers.
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if rest.contains(':') {
        return sexagesimal(negative, rest).map(|text| Typed::new(text, BASE_60));
    }
    let (base, digits, what) = if let Some(digits) = plain.strip_prefix("0b") {
        (2, digits, BINARY)
    } else if let Some(digits) = plain.strip_prefix("0x") {
        (16, digits, HEXADECIMAL)
    } else if plain.len() > 1 && plain.starts_with('0') {
        (8, &plain[1..], OCTAL)
    } else {
        (10, plain.as_str(), NUMBER)
    };
    whole(negative, digits, base).map(|text| Typed::new(text, what))
}

/// The parts of `12:30:45`: the first begins with 1 to 9, the others are below 60.
fn parts_of_60(text: &str) -> Option<Vec<&str>> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    let is_number = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let is_small = |part: &&str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
        _ => false,
    };
    let others: Vec<&str> = parts.collect();
    let fits = is_number(&first) && !others.is_empty() && others.iter().all(is_small);
    fits.then(|| [vec![first], others].concat())
}

/// SnakeYAML adds the parts up in 32 bits.
fn sexagesimal(negative: bool, text: &str) -> Option<String> {
    if text.starts_with('0') {
        return None;
    }
    let mut sum = 0_i32;
    let mut factor = 1_i32;
    for part in parts_of_60(text)?.into_iter().rev() {
        let part: i64 = part.replace('_', "").parse().ok()?;
        let added = i64::from(sum).wrapping_add(part.wrapping_mul(i64::from(factor)));
        sum = wrapped(added);
        factor = factor.wrapping_mul(60);
    }
    let sum = if negative { i64::from(sum).wrapping_neg() } else { i64::from(sum) };
    Some(sum.to_string())
}

/// The lower 32 bits, as Java's `(int)` takes them.
fn wrapped(number: i64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

fn decimal(text: &str) -> Option<Typed> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Typed::new("NaN", NUMBER));
    }
    let (negative, rest) = signed(text);
    let sign = if negative { "-" } else { "" };
    if matches!(rest, ".inf" | ".Inf" | ".INF") {
        return Some(Typed::new(format!("{sign}Infinity"), NUMBER));
    }
    if let Some((before, behind)) = rest.split_once('.').filter(|_| rest.contains(':')) {
        let parts = parts_of_60(before)?;
        if !behind.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            return None;
        }
        let (last, others) = parts.split_last()?;
        let mut sum: f64 = format!("{last}.{behind}").replace('_', "").parse().ok()?;
        let mut factor = 60.0;
        for part in others.iter().rev() {
            sum += part.replace('_', "").parse::<f64>().ok()? * factor;
            factor *= 60.0;
        }
        return Some(Typed::new(java(if negative { -sum } else { sum }), BASE_60));
    }
    if !is_decimal(rest) {
        return None;
    }
    let number: f64 = rest.replace('_', "").parse().ok()?;
    Some(Typed::new(java(if negative { -number } else { number }), NUMBER))
}

/// `1.5`, `1.`, `.5`, each with an exponent or without, and `1e5`.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(signed(exponent).1)),
        None => (text, None),
    };
    let of_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let has_exponent = exponent.is_none_or(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let starts = mantissa.starts_with(|c: char| c.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", behind)) => !behind.is_empty() && of_digits(behind),
        Some((before, behind)) => starts && of_digits(before) && of_digits(behind),
        None => starts && exponent.is_some() && of_digits(mantissa),
    };
    is_mantissa && has_exponent
}

/// `Double.toString`.
fn java(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    if number == 0.0 {
        return format!("{sign}0.0");
    }
    let (digits, exponent) = digits(number);
    if (-3..7).contains(&exponent) {
        let text = positional(&digits, exponent);
        let end = if text.contains('.') { "" } else { ".0" };
        return format!("{sign}{text}{end}");
    }
    let behind = if digits.len() > 1 { &digits[1..] } else { "0" };
    format!("{sign}{}.{behind}E{exponent}", &digits[..1])
}
