//! Values as sources write them: GUIDs, points in time, lengths of time.

use crate::time::{DAY_MS, Date, checked_days};

/// The same byte eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const HIGH_BITS: u64 = each(0x80);
/// What added to a byte below 128 sets its high bit when it is larger than 9, 0 and 6.
const ABOVE_9: u64 = each(0x80 - 10);
const ABOVE_0: u64 = each(0x80 - 1);
const ABOVE_6: u64 = each(0x80 - 7);

/// Eight hexadecimal digits as a number, and whether they are some: a high bit is left where one is
/// none. All at once; no sum of two bytes here goes beyond a byte.
#[inline]
fn hexadecimal(text: &[u8; 8]) -> (u64, u64) {
    const ZEROS: u64 = each(b'0');
    const SMALL: u64 = each(0x20);
    const BEFORE_A: u64 = each(b'a' - 1);
    let text = u64::from_le_bytes(*text);
    let low = text & !HIGH_BITS;
    // 0 to 9 for a digit, 1 to 6 for a letter in any case.
    let (digit, letter) = (low ^ ZEROS, (low | SMALL) ^ BEFORE_A);
    let is_digit = !(digit + ABOVE_9);
    let is_letter = (letter + ABOVE_0) & !(letter + ABOVE_6);
    let wrong = (text | !(is_digit | is_letter)) & HIGH_BITS;
    let value = (low & 0x0f0f_0f0f_0f0f_0f0f) + (low >> 6 & 0x0101_0101_0101_0101) * 9;
    // The first letter is the highest digit. Then neighbours join: bytes, pairs, quadruples.
    let value = value.swap_bytes();
    let value = (value | value >> 4) & 0x00ff_00ff_00ff_00ff;
    let value = (value | value >> 8) & 0x0000_ffff_0000_ffff;
    ((value | value >> 16) & 0xffff_ffff, wrong)
}

/// A GUID, with or without dashes and braces, in any case.
pub(crate) fn guid(text: &[u8]) -> Option<[u64; 2]> {
    let text = match text {
        [b'{', inner @ .., b'}'] | [b'(', inner @ .., b')'] => inner,
        all => all,
    };
    let mut digits = [0; 32];
    if let Some(text) = text.first_chunk::<36>().filter(|_| text.len() == 36) {
        let [a, b, c, d] = [text[8], text[13], text[18], text[23]];
        if (a ^ b'-') | (b ^ b'-') | (c ^ b'-') | (d ^ b'-') != 0 {
            return None;
        }
        digits[..8].copy_from_slice(&text[..8]);
        digits[8..12].copy_from_slice(&text[9..13]);
        digits[12..16].copy_from_slice(&text[14..18]);
        digits[16..20].copy_from_slice(&text[19..23]);
        digits[20..].copy_from_slice(&text[24..]);
    } else {
        digits = *text.first_chunk().filter(|_| text.len() == 32)?;
    }
    let [a, b, c, d] = digits.as_chunks().0 else { return None };
    let (a, b, c, d) = (hexadecimal(a), hexadecimal(b), hexadecimal(c), hexadecimal(d));
    (a.1 | b.1 | c.1 | d.1 == 0).then_some([a.0 << 32 | b.0, c.0 << 32 | d.0])
}

/// The digits of a number in a fixed place.
#[inline]
fn number(text: &[u8], from: usize, to: usize) -> Option<i64> {
    let mut number = 0;
    for byte in text.get(from..to)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(number)
}

/// A form of eight bytes, where a zero stands for any digit.
struct Form {
    bytes: u64,
    /// What added to the difference of a byte sets its high bit when it is no digit, or another byte.
    above: u64,
}

impl Form {
    const fn new(bytes: [u8; 8]) -> Self {
        let (mut above, mut at) = ([0x80 - 1; 8], 0);
        while at < 8 {
            if bytes[at] == b'0' {
                above[at] = 0x80 - 10;
            }
            at += 1;
        }
        Self { bytes: u64::from_le_bytes(bytes), above: u64::from_le_bytes(above) }
    }

    /// The numbers of two digits in a text of this form: byte by byte, with the digit behind it.
    #[inline]
    fn pairs(&self, text: &[u8; 8]) -> Option<[u8; 8]> {
        let digits = u64::from_le_bytes(*text) ^ self.bytes;
        let wrong = (digits | ((digits & !HIGH_BITS) + self.above)) & HIGH_BITS;
        if wrong == 0 { Some((digits * 10 + (digits >> 8)).to_le_bytes()) } else { None }
    }
}

/// The day and the time of day that a text begins with, `2026-11-28T23:12:14`, in the form that most
/// sources write; none for other forms and impossible times. Milliseconds since 1970.
#[inline]
fn usual_time(text: &[u8]) -> Option<i64> {
    const DATE: Form = Form::new(*b"0000-00-");
    const CLOCK: Form = Form::new(*b"00T00:00");
    let (date, rest) = text.split_first_chunk::<8>()?;
    let (clock, rest) = rest.split_first_chunk::<8>()?;
    let [high, _, low, _, _, month, _, _] = DATE.pairs(date)?;
    let [day, _, _, hour, _, _, minute, _] = CLOCK.pairs(clock)?;
    let [b':', tens @ b'0'..=b'5', ones @ b'0'..=b'9', ..] = rest else { return None };
    let second = i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
    let (hour, minute) = (i64::from(hour), i64::from(minute));
    if hour > 23 || minute > 59 {
        return None;
    }
    let year = i64::from(high) * 100 + i64::from(low);
    let days = checked_days(Date { year, month: i64::from(month), day: i64::from(day) })?;
    Some(days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000)
}

/// A point in time: `2026-11-28T23:12:14.534+01:00`, with a blank for the `T`, any number of
/// decimals, `Z`, an offset or nothing, which is UTC. Milliseconds since 1970 UTC, and whether the
/// text names its offset. None when it is no such text or no such day.
pub(crate) fn time(text: &[u8]) -> Option<(i64, bool)> {
    match usual_time(text) {
        Some(ms) => time_with(ms, text),
        None => any_time(text),
    }
}

fn any_time(text: &[u8]) -> Option<(i64, bool)> {
    let [year, month, day] = [number(text, 0, 4)?, number(text, 5, 7)?, number(text, 8, 10)?];
    if text.get(4) != Some(&b'-') || text.get(7) != Some(&b'-') {
        return None;
    }
    let ms = checked_days(Date { year, month, day })? * DAY_MS;
    if text.len() == 10 {
        return Some((ms, false));
    }
    let [hour, minute, second] =
        [number(text, 11, 13)?, number(text, 14, 16)?, number(text, 17, 19)?];
    let separated = matches!(text.get(10), Some(b'T' | b' ' | b't'))
        && text.get(13) == Some(&b':')
        && text.get(16) == Some(&b':');
    // A leap second is the first second of the next minute.
    if !separated || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    time_with(ms + ((hour * 60 + minute) * 60 + second) * 1000, text)
}

/// A point in time whose seconds are known, with the decimals and the offset behind them.
fn time_with(mut ms: i64, text: &[u8]) -> Option<(i64, bool)> {
    let mut at = 19;
    if text.get(at) == Some(&b'.') {
        let decimals = text.get(at + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let kept = decimals.min(3);
        let scale = [1, 100, 10, 1][kept];
        ms += number(text, at + 1, at + 1 + kept)? * scale;
        at += 1 + decimals;
    }
    let rest = text.get(at..)?.trim_ascii();
    let offset = match rest {
        b"" => return Some((ms, false)),
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let hours = number(rest, 1, 3)?;
            let minutes = number(rest, rest.len().checked_sub(2)?.max(3), rest.len())?;
            let minutes = (hours * 60 + minutes) * 60_000;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    Some((ms - offset, true))
}

/// Whether a point in time can be one of a visit: outside of these years it is a default value or
/// damage.
pub(crate) fn is_plausible(ms: i64) -> bool {
    // 1990-01-01 to 2100-01-01.
    (631_152_000_000..4_102_444_800_000).contains(&ms)
}

/// A length of time as XML Schema writes it: `PT1M3.25S`, `P1DT2H`. Milliseconds.
pub(crate) fn duration(text: &[u8]) -> Option<u64> {
    let rest = text.strip_prefix(b"P")?;
    let (mut total, mut whole, mut thousandths, mut decimals) = (0_u64, 0_u64, 0_u64, None);
    let mut clock = false;
    for byte in rest {
        match (byte, decimals) {
            (b'0'..=b'9', None) => {
                whole = whole.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
            }
            (b'0'..=b'9', Some(scale)) => {
                thousandths += u64::from(byte - b'0') * scale;
                decimals = Some(scale / 10);
            }
            (b'.', None) => decimals = Some(100),
            (b'T', None) if !clock => clock = true,
            (unit, _) => {
                let ms = match (unit, clock) {
                    (b'D', false) => 86_400_000,
                    (b'H', true) => 3_600_000,
                    (b'M', true) => 60_000,
                    (b'S', true) => 1000,
                    _ => return None,
                };
                total = total.checked_add(whole.checked_mul(ms)?)?;
                total = total.checked_add(thousandths * ms / 1000)?;
                (whole, thousandths, decimals) = (0, 0, None);
            }
        }
    }
    Some(total)
}

/// A whole number in decimal digits.
pub(crate) fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// A number of degrees in millionths.
pub(crate) fn degrees_e6(text: &[u8]) -> Option<i64> {
    if let Some(millionths) = short_decimal_e6(text) {
        return (millionths.abs() <= 180_000_000).then_some(millionths);
    }
    let degrees: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "between -180 and 180 millions")]
    (degrees.abs() <= 180.0).then(|| (degrees * 1e6).round() as i64)
}

/// Millionths of a number with up to three digits before a point and one to six behind it, as most
/// sources write degrees; none for other texts.
fn short_decimal_e6(text: &[u8]) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let point = text.iter().take(4).position(|byte| *byte == b'.').filter(|at| *at > 0)?;
    let decimals = text.len() - point - 1;
    let scale = *[100_000, 10_000, 1000, 100, 10, 1].get(decimals.checked_sub(1)?)?;
    let whole = number(text, 0, point)?;
    let millionths = whole * 1_000_000 + number(text, point + 1, text.len())? * scale;
    Some(if negative { -millionths } else { millionths })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text that may be damaged: some letters are replaced.
    fn damaged(text: &str, at: usize, by: u8) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        if let Some(byte) = bytes.get_mut(at) {
            *byte = by;
        }
        bytes
    }

    proptest! {
        #[test]
        fn a_guid_is_its_digits(high in any::<u64>(), low in any::<u64>(), at in 0_usize..80, by in any::<u8>()) {
            let text = format!("{high:016X}{low:016x}");
            let damaged = damaged(&text, at, by);
            let digit = |byte: &u8| char::from(*byte).to_digit(16).map(u64::from);
            let digits: Option<Vec<u64>> = damaged.iter().map(digit).collect();
            let halves = digits.map(|digits| {
                let half = |part: &[u64]| part.iter().fold(0, |sum, digit| sum << 4 | digit);
                [half(&digits[..16]), half(&digits[16..])]
            });
            prop_assert_eq!(guid(&damaged), halves);
        }

        #[test]
        fn usual_times_are_read_as_all_others(
            ms in 0_i64..4_102_444_800_000, at in 0_usize..60, by in any::<u8>(), end in "Z|z|\\+01:00| |",
        ) {
            let mut text = Vec::new();
            crate::time::put_xdb(&mut text, ms);
            let text = format!("{}{end}", String::from_utf8_lossy(&text).trim_end_matches('Z'));
            prop_assert_eq!(any_time(text.as_bytes()), time(text.as_bytes()));
            let damaged = damaged(&text, at, by);
            prop_assert_eq!(time(&damaged), any_time(&damaged), "{}", String::from_utf8_lossy(&damaged));
        }

        #[test]
        fn short_decimals_are_read_as_numbers(text in "-?[0-9]{1,3}\\.[0-9]{1,6}") {
            let degrees: f64 = text.parse().unwrap();
            #[expect(clippy::cast_possible_truncation, reason = "at most 999 degrees")]
            let millionths = (degrees * 1e6).round() as i64;
            let wanted = (degrees.abs() <= 180.0).then_some(millionths);
            prop_assert_eq!(degrees_e6(text.as_bytes()), wanted);
        }
    }

    #[test]
    fn guids_are_read_in_all_their_forms() {
        let wanted = Some([0x110d_559f_dea5_42ea, 0x9c1c_8a5d_f7e7_0ef9]);
        for text in [
            "110d559f-dea5-42ea-9c1c-8a5df7e70ef9",
            "{110D559F-DEA5-42EA-9C1C-8A5DF7E70EF9}",
            "110d559fdea542ea9c1c8a5df7e70ef9",
        ] {
            assert_eq!(guid(text.as_bytes()), wanted, "{text}");
        }
        for text in [
            "",
            "110d559f-dea5-42ea-9c1c-8a5df7e70ef",
            "110d559f-dea5-42ea-9c1c-8a5df7e70efg",
            "110d559f-dea5-42ea-9c1c98a5df7e70ef9",
        ] {
            assert_eq!(guid(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_in_all_their_forms() {
        let at = |text: &str| time(text.as_bytes());
        assert_eq!(at("1970-01-02T00:00:01.0350000Z"), Some((86_401_035, true)));
        assert_eq!(at("1970-01-02 00:00:01.5"), Some((86_401_500, false)));
        assert_eq!(at("1970-01-02T02:00:01+02:00"), Some((86_401_000, true)));
        assert_eq!(at("1970-01-01T22:00:01-0200"), Some((86_401_000, true)));
        assert_eq!(at("1970-01-02"), Some((86_400_000, false)));
        for text in [
            "",
            "1970-02-30T00:00:00Z",
            "1970-13-01",
            "1970-01-01T25:00:00Z",
            "x970-01-01",
            "1970-01-01T00:00:00 CET",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_read() {
        let ms = |text: &str| duration(text.as_bytes());
        assert_eq!(ms("PT3.25S"), Some(3_250));
        assert_eq!(ms("PT1M3S"), Some(63_000));
        assert_eq!(ms("P1DT2H"), Some(93_600_000));
        assert_eq!(ms("PT0.0001S"), Some(0));
        assert_eq!(ms("3S"), None);
        assert_eq!(ms("P99999999999999999999D"), None);
    }
}
