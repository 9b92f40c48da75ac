//! Numbers exactly as a text says them.
//!
//! Profiles write times as decimal fractions of seconds, milliseconds or microseconds. Read as
//! floats, a time of day in seconds keeps only some hundreds of nanoseconds, and sums of many
//! lengths drift; so the digits are kept, and scaled to integers of the wanted unit.

/// A decimal number: `mantissa` times ten to the power of `exponent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: i128,
    exponent: i32,
}

/// Digits kept of a number: more than any clock has, and few enough to scale within 128 bits.
const DIGITS: u32 = 27;
/// Largest power of ten that an exponent may state; `f64` ends at 308.
const EXPONENT: i32 = 400;

impl Decimal {
    /// The number that a text says: `12`, `-0.5`, `1.25e-3`. None when it is no number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, power) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], rest[at + 1..].parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || power.abs() > EXPONENT {
            return None;
        }
        let mut number = Self { mantissa: 0, exponent: power };
        let mut kept = 0;
        for (byte, fractional) in
            whole.bytes().map(|b| (b, 0)).chain(fraction.bytes().map(|b| (b, 1)))
        {
            let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
            if kept < DIGITS {
                number.mantissa = number.mantissa * 10 + digit;
                number.exponent = number.exponent.checked_sub(fractional)?;
                kept += u32::from(number.mantissa != 0);
            } else {
                number.exponent = number.exponent.checked_add(1 - fractional)?;
            }
        }
        if negative {
            number.mantissa = -number.mantissa;
        }
        Some(number)
    }

    /// The number that a float was written as.
    pub(crate) fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::parse(&format!("{value:e}"))).flatten()
    }

    /// Whether it is below zero.
    pub(crate) fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// The number without its sign.
    pub(crate) fn abs(self) -> Self {
        Self { mantissa: self.mantissa.saturating_abs(), ..self }
    }

    /// How many digits stand behind the point, zeros at the end left out.
    pub(crate) fn places(self) -> u32 {
        let Self { mut mantissa, mut exponent } = self;
        while mantissa != 0 && exponent < 0 && mantissa % 10 == 0 {
            (mantissa, exponent) = (mantissa / 10, exponent + 1);
        }
        if mantissa == 0 { 0 } else { exponent.min(0).unsigned_abs() }
    }

    /// The number times ten to the power of `power`, rounded to the nearest integer. None when
    /// that needs more than 128 bits.
    pub(crate) fn scaled(self, power: i32) -> Option<i128> {
        let power = self.exponent.checked_add(power)?;
        let ten = 10_i128.checked_pow(power.unsigned_abs());
        if self.mantissa == 0 {
            return Some(0);
        }
        if power >= 0 {
            return self.mantissa.checked_mul(ten?);
        }
        let Some(ten) = ten else { return Some(0) };
        let half = ten / 2 * self.mantissa.signum();
        Some((self.mantissa + half) / ten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(text: &str, power: i32) -> Option<i128> {
        Decimal::parse(text)?.scaled(power)
    }

    #[test]
    fn digits_are_kept_where_floats_lose_them() {
        assert_eq!(scaled("1795309437.470955123", 9), Some(1_795_309_437_470_955_123));
        assert_eq!(scaled("0.014353624000023046", 9), Some(14_353_624));
        assert_eq!(scaled("-1.5e-3", 6), Some(-1_500));
        assert_eq!(scaled("2E2", 0), Some(200));
        assert_eq!(scaled("0.0000000005", 9), Some(1));
        assert_eq!(scaled("-0.0000000004", 9), Some(0));
        let kept = (10_i128.pow(27) - 1) * 10_i128.pow(9);
        assert_eq!(scaled(&"9".repeat(36), 0), Some(kept));
    }

    #[test]
    fn places_are_those_that_matter() {
        let places = |text: &str| Decimal::parse(text).map(Decimal::places);
        let expected =
            [("1", 0), ("0.40", 1), ("12.5e-3", 4), ("2.00", 0), ("1e3", 0), ("0.000", 0)];
        for (text, count) in expected {
            assert_eq!(places(text), Some(count), "{text}");
        }
        assert_eq!(Decimal::from_f64(0.4), Decimal::parse("4e-1"));
        assert_eq!(Decimal::from_f64(f64::NAN), None);
    }

    #[test]
    fn what_is_no_number_or_too_large_is_none() {
        for text in ["", "-", ".", "1e", "1e999", "0x10", "1,5", "NaN", "--1", "1.2.3"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(scaled("1e300", 9), None);
        assert_eq!(scaled("1e-300", 9), Some(0));
        assert_eq!(scaled("0e300", 9), Some(0));
    }
}
