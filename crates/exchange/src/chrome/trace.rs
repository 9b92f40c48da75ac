//! The file's shape: a list of events, alone or in an object, whole or cut.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use culprit_model::{Label as _, Metric};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::Refusal;
use crate::json::{self, Loose, Number, Str};

/// Where we say what the values of a trace of ours count; other programs pass it over.
pub(super) const METRIC: &str = "culprit.metric";

/// The number of no thread, under which we write rows that are of none.
pub(super) const NO_THREAD: u32 = u32::MAX;

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Trace<'a> {
    pub(super) events: Vec<&'a RawValue>,
    /// What the values count, in a trace that we wrote.
    pub(super) metric: Option<Metric>,
    /// The table of samples, and that of their frames by id.
    pub(super) samples: Vec<&'a RawValue>,
    pub(super) frames: BTreeMap<Cow<'a, str>, Loose<StackFrame<'a>>>,
    /// Why the rest is missing.
    pub(super) cut: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) ph: Str<'a>,
    #[serde(default)]
    pub(super) ts: Number,
    #[serde(default)]
    pub(super) dur: Number,
    #[serde(borrow, default)]
    pub(super) pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id2: Loose<Scoped<'a>>,
    #[serde(borrow, default)]
    pub(super) cat: Loose<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Loose<Str<'a>>,
    #[serde(borrow, default)]
    pub(super) args: Loose<Args<'a>>,
}

/// An id that says where it counts.
#[derive(Debug, Deserialize)]
pub(super) struct Scoped<'a> {
    #[serde(borrow, default)]
    pub(super) local: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) global: Option<&'a RawValue>,
}

/// Those arguments of events that are looked at.
#[derive(Debug, Deserialize)]
pub(super) struct Args<'a> {
    /// Of `M`: the name given.
    #[serde(borrow, default)]
    pub(super) name: Loose<Str<'a>>,
    /// Of `B` and `X`, as py-spy writes it.
    #[serde(borrow, default)]
    pub(super) filename: Loose<Str<'a>>,
    #[serde(default)]
    pub(super) line: Number,
    /// Of `P`: a piece of a CPU profile.
    #[serde(borrow, default)]
    pub(super) data: Option<&'a RawValue>,
}

/// A frame of the table, and the id of its caller.
#[derive(Debug, Deserialize)]
pub(super) struct StackFrame<'a> {
    #[serde(borrow)]
    pub(super) name: Str<'a>,
    #[serde(borrow, default)]
    pub(super) parent: Option<&'a RawValue>,
}

/// A row of the table of samples. Some writers put all numbers in quotes.
#[derive(Debug, Deserialize)]
pub(super) struct Sample<'a> {
    #[serde(borrow, default)]
    pub(super) ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) weight: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) sf: Option<&'a RawValue>,
}

impl<'a> Trace<'a> {
    /// Takes a text apart into its events, up to where it can be read.
    pub(super) fn parse(text: &'a str) -> Result<Self, Refusal> {
        let mut trace = Self::default();
        let mut source = serde_json::Deserializer::from_str(text);
        let done = if json::is_array(text.as_bytes()) {
            Events(&mut trace.events).deserialize(&mut source)
        } else {
            Object(&mut trace).deserialize(&mut source)
        };
        match done {
            Ok(()) => Ok(trace),
            Err(error) if trace.events.is_empty() && trace.samples.is_empty() => {
                Err(error.to_string())
            }
            Err(error) => Ok(Self { cut: Some(error.to_string()), ..trace }),
        }
    }
}

/// Fills a list that keeps what came before an error.
struct Events<'a, 'de>(&'a mut Vec<&'de RawValue>);

impl<'de> DeserializeSeed<'de> for Events<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element()? {
            self.0.push(event);
        }
        Ok(())
    }
}

/// Fills a trace from the object around the list.
struct Object<'a, 'de>(&'a mut Trace<'de>);

impl<'de> DeserializeSeed<'de> for Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `traceEvents`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Str(key)) = map.next_key()? {
            match &*key {
                "traceEvents" => map.next_value_seed(Events(&mut self.0.events))?,
                "otherData" => {
                    let other: Loose<Other<'_>> = map.next_value()?;
                    self.0.metric =
                        other.get().and_then(|other| Metric::from_word(other.metric.text()));
                }
                "samples" => map.next_value_seed(Events(&mut self.0.samples))?,
                "stackFrames" => {
                    let frames: BTreeMap<Str<'de>, Loose<StackFrame<'de>>> = map.next_value()?;
                    self.0.frames = frames.into_iter().map(|(id, frame)| (id.0, frame)).collect();
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Other<'a> {
    #[serde(borrow, rename = "culprit.metric", default)]
    metric: Loose<Str<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_cut_is_read() {
        let whole = r#"{"a":[1],"traceEvents":[{"ph":"B"},{"ph":"E"}],"b":{}}"#;
        let trace = Trace::parse(whole).unwrap();
        assert_eq!((trace.events.len(), trace.cut), (2, None));
        let cut = Trace::parse(&whole[..40]).unwrap();
        assert_eq!((cut.events.len(), cut.cut.is_some()), (1, true));
        let list = Trace::parse("[{\"ph\":\"B\"},\n").unwrap();
        assert_eq!((list.events.len(), list.cut.is_some()), (1, true));
        assert!(Trace::parse("{\"traceEvents\":[").is_err());
        assert!(Trace::parse("{").is_err());
        let own = r#"{"traceEvents":[{}],"otherData":{"culprit.metric":"cpu"}}"#;
        assert_eq!(Trace::parse(own).unwrap().metric, Some(Metric::Cpu));
    }
}
