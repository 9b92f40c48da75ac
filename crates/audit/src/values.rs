//! Values as sources write them: GUIDs, points in time, lengths of time.

use crate::time::{DAY_MS, Date, checked_days};

/// What a byte is as a hexadecimal digit; all bits for one that is none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// A GUID, with or without dashes and braces, in any case.
pub(crate) fn guid(text: &[u8]) -> Option<[u64; 2]> {
    let text = match text {
        [b'{', inner @ .., b'}'] | [b'(', inner @ .., b')'] => inner,
        all => all,
    };
    let parts: [&[u8]; 5] = match text.len() {
        32 => [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]],
        36 if [8, 13, 18, 23].iter().all(|at| text[*at] == b'-') => {
            [&text[..8], &text[9..13], &text[14..18], &text[19..23], &text[24..]]
        }
        _ => return None,
    };
    let (mut halves, mut seen) = ([0_u64; 2], 0);
    for (part, half) in parts.iter().zip([0, 0, 0, 1, 1]) {
        for byte in *part {
            let digit = DIGITS[usize::from(*byte)];
            // One that is no digit is noticed at the end: there hardly is one.
            seen |= digit;
            halves[half] = halves[half] << 4 | u64::from(digit & 15);
        }
    }
    (seen < 16).then_some(halves)
}

/// The digits of a number in a fixed place.
#[inline]
fn number(text: &[u8], from: usize, to: usize) -> Option<i64> {
    text.get(from..to)?.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// A point in time: `2026-11-28T23:12:14.534+01:00`, with a blank for the `T`, any number of
/// decimals, `Z`, an offset or nothing, which is UTC. Milliseconds since 1970 UTC, and whether the
/// text names its offset. None when it is no such text or no such day.
pub(crate) fn time(text: &[u8]) -> Option<(i64, bool)> {
    let [year, month, day] = [number(text, 0, 4)?, number(text, 5, 7)?, number(text, 8, 10)?];
    if text.get(4) != Some(&b'-') || text.get(7) != Some(&b'-') {
        return None;
    }
    let mut ms = checked_days(Date { year, month, day })? * DAY_MS;
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
    ms += ((hour * 60 + minute) * 60 + second) * 1000;
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
    let degrees: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "between -180 and 180 millions")]
    (degrees.abs() <= 180.0).then(|| (degrees * 1e6).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

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
