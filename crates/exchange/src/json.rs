//! JSON that others wrote: fields may be missing or of another type without the rest being lost.

use std::borrow::Cow;

use culprit_model::LossKind;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::builder::Builder;
use crate::decimal::Decimal;
use crate::format::Refusal;

/// Whether the text of a file begins an object.
pub(crate) fn is_object(head: &[u8]) -> bool {
    begins(head, b'{', b"\"}")
}

/// Whether it begins an array of objects.
pub(crate) fn is_array(head: &[u8]) -> bool {
    begins(head, b'[', b"{]")
}

/// Whether the first letter is this one and the second one of those, where there is a second.
fn begins(head: &[u8], first: u8, second: &[u8]) -> bool {
    let mut letters = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    letters.next() == Some(first) && letters.next().is_none_or(|letter| second.contains(&letter))
}

/// Whether the first bytes of a file hold a text.
pub(crate) fn mentions(head: &[u8], text: &str) -> bool {
    memchr::memmem::find(head, text.as_bytes()).is_some()
}

/// The value that a text begins with. Text behind it is told.
pub(crate) fn document<'a, T: Deserialize<'a>>(
    text: &'a str,
    builder: &mut Builder,
) -> Result<T, Refusal> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(&mut json).map_err(|error| error.to_string())?;
    if json.end().is_err() {
        builder.lose(LossKind::DetailLeftOut, 1, "text after the end of the document");
    }
    Ok(value)
}

/// A number that stands `places` decimal places below its unit, as exact JSON: floats would lose
/// its end.
pub(crate) fn decimal(value: u64, places: u32) -> std::io::Result<Box<RawValue>> {
    let unit = 10_u64.pow(places);
    let width = places as usize;
    let text = match value % unit {
        0 => (value / unit).to_string(),
        rest => format!("{}.{rest:0width$}", value / unit),
    };
    RawValue::from_string(text).map_err(std::io::Error::from)
}

/// A number or a text as a word: what processes and threads are named by; `0` where it is missing.
pub(crate) fn word(raw: Option<&RawValue>) -> &str {
    raw.map_or("0", |raw| raw.get().trim_matches('"'))
}

/// The power of ten from a unit of time to nanoseconds; none when it is no unit of time.
pub(crate) fn time_unit(unit: &str) -> Option<i32> {
    match unit {
        "seconds" | "s" => Some(9),
        "milliseconds" | "ms" => Some(6),
        "microseconds" | "us" | "\u{b5}s" => Some(3),
        "nanoseconds" | "ns" => Some(0),
        _ => None,
    }
}

/// A field that may hold anything: its value where it is what was expected, else none.
#[derive(Debug, Clone)]
pub(crate) struct Loose<T>(pub(crate) Option<T>);

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Loose<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// Text that borrows from the file where it has no escapes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Str<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Loose<Str<'_>> {
    /// The text; empty where there is none.
    pub(crate) fn text(&self) -> &str {
        self.get().map_or("", |text| &text.0)
    }
}

/// A number as the file writes it; none for anything else.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Number(pub(crate) Option<Decimal>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(Decimal::parse(raw.get())))
    }
}

impl Number {
    /// The number times a power of ten, rounded; none where there is no number.
    pub(crate) fn scaled(self, power: i32) -> Option<i128> {
        self.0?.scaled(power)
    }

    /// The number as a position in a list.
    pub(crate) fn index(self) -> Option<usize> {
        usize::try_from(self.scaled(0)?).ok()
    }

    /// The number as a line or a process number.
    pub(crate) fn small(self) -> Option<u32> {
        u32::try_from(self.scaled(0)?).ok()
    }
}
