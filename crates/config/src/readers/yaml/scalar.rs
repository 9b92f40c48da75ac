//! What a scalar without quotes means, by the rules of the program that reads the file.
//!
//! ```text
//! as written     YAML 1.2 as most readers show it     NO = NO      0123 = 0123   1.10 = 1.10
//! SnakeYAML      YAML 1.1, of Spring Boot             NO = false   0123 = 83     1.10 = 1.1
//! go-yaml        YAML 1.2 and parts of 1.1, Compose   NO = NO      0123 = 83     1.10 = 1.1
//! ```

use super::{go, snake};

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::readers) enum Rules {
    /// A scalar is its text.
    AsWritten,
    /// `org.yaml:snakeyaml`, without dates, as Spring Boot uses it.
    Snake,
    /// `go.yaml.in/yaml`, as compose-go uses it.
    Go,
    /// `sigs.k8s.io/yaml`, as kubectl uses it: what is no text is sent to the API as no text.
    Kubernetes,
}

/// A scalar that is no text to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typed {
    /// How the program writes it.
    pub(super) text: String,
    /// What the program takes it for, in words.
    pub(super) what: &'static str,
}

impl Typed {
    pub(super) fn new(text: impl Into<String>, what: &'static str) -> Self {
        Self { text: text.into(), what }
    }
}

/// What the words say of each kind.
pub(super) const TRUTH: &str = "a truth value";
pub(super) const NUMBER: &str = "a number";
pub(super) const OCTAL: &str = "an octal number";
pub(super) const HEXADECIMAL: &str = "a hexadecimal number";
pub(super) const BINARY: &str = "a binary number";
pub(super) const BASE_60: &str = "a number in base 60";
pub(super) const DATE: &str = "a date";

impl Rules {
    /// What the program takes a scalar without quotes for; none of a text.
    pub(super) fn typed(self, text: &str) -> Option<Typed> {
        match self {
            Self::AsWritten => None,
            Self::Snake => snake::typed(text),
            Self::Go => go::typed(text),
            Self::Kubernetes => go::typed_of_kubernetes(text),
        }
    }

    /// Who refuses a key that stands twice; none if nobody does.
    pub(super) fn refuses_repeated(self) -> Option<&'static str> {
        match self {
            Self::AsWritten | Self::Kubernetes => None,
            Self::Snake => Some("Spring Boot"),
            Self::Go => Some("Compose"),
        }
    }
}

/// A whole number of a base without its sign, which may be too large for a type of the processor.
pub(super) fn whole(negative: bool, digits: &str, base: u32) -> Option<String> {
    let number = match base {
        // As large as it likes.
        10 if digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.is_empty() => {
            let digits = digits.trim_start_matches('0');
            if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
        }
        base => u128::from_str_radix(digits, base)
            .ok()
            .filter(|_| !digits.starts_with('+'))?
            .to_string(),
    };
    Some(if negative && number != "0" { format!("-{number}") } else { number })
}

/// The shortest digits that mean a number, and the power of ten of the first: `1234` and 2 for 123.4.
pub(super) fn digits(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Digits with a point behind the one of 10^0, `exponent` being the power of the first. Without digits behind the
/// point there is no point.
pub(super) fn positional(digits: &str, exponent: i32) -> String {
    let before = usize::try_from(exponent + 1).unwrap_or(0);
    if before == 0 {
        let zeros = usize::try_from(-1 - exponent).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    }
    if before >= digits.len() {
        return format!("{digits}{}", "0".repeat(before - digits.len()));
    }
    format!("{}.{}", &digits[..before], &digits[before..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_their_shortest_digits() {
        assert_eq!(digits(123.4), ("1234".to_owned(), 2));
        assert_eq!(digits(-0.001), ("1".to_owned(), -3));
        for (number, text) in [(123.4, "123.4"), (0.05, "0.05"), (1200.0, "1200"), (0.5, "0.5")] {
            let (digits, exponent) = digits(number);
            assert_eq!(positional(&digits, exponent), text);
        }
        assert_eq!(whole(true, "0007", 10), Some("-7".to_owned()));
        assert_eq!(whole(true, "0", 8), Some("0".to_owned()));
        assert_eq!(whole(false, "8", 8), None);
    }
}
