//! The JSON form: `{"StackSource":{"Samples":[{"Time":1.5,"Metric":2,"Stack":["leaf","root"]}]}}`.
//!
//! Samples are taken as they come, so a file that is cut short keeps those before its end.

use std::fmt;

use culprit_model::LossKind;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Sample, Scaling, add};
use crate::builder::Builder;
use crate::format::Refusal;
use crate::input::Input;

pub(super) fn detect(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let has = |key: &str| text.contains(key);
    text.trim_start().starts_with('{')
        && has("\"Samples\"")
        && (has("\"StackSource\"") || (has("\"Stack\"") && has("\"Metric\"")))
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let mut samples = Vec::new();
    let mut json = serde_json::Deserializer::from_str(&text);
    let read = Object { builder, samples: &mut samples }.deserialize(&mut json);
    match read {
        Ok(()) if samples.is_empty() => return Err("it contains no samples".to_owned()),
        Err(error) if samples.is_empty() => return Err(error.to_string()),
        Ok(()) => {}
        Err(error) => {
            let what = format!("the rest of the file is unreadable: {error}");
            builder.lose(LossKind::FileDamaged, 1, &what);
        }
    }
    add(builder, &samples, Scaling::Time);
    Ok(())
}

/// The outermost object, and `StackSource` in it.
struct Object<'a> {
    builder: &'a mut Builder,
    samples: &'a mut Vec<Sample>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `Samples`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let (builder, samples) = (&mut *self.builder, &mut *self.samples);
            match key.as_str() {
                "StackSource" => map.next_value_seed(Object { builder, samples })?,
                "Samples" => map.next_value_seed(Samples { builder, samples })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The list of samples.
struct Samples<'a> {
    builder: &'a mut Builder,
    samples: &'a mut Vec<Sample>,
}

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(sample) = list.next_element::<Entry>()? {
            let frames: Vec<_> = sample.stack.iter().map(|name| self.builder.named(name)).collect();
            let stack = self.builder.stack(frames.into_iter().rev());
            let (time, metric) =
                (sample.time.map_or(0.0, |n| n.0), sample.metric.map_or(1.0, |n| n.0));
            self.samples.push(Sample { time, metric, stack });
        }
        Ok(())
    }
}

/// One sample, its stack leaf first.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "Time")]
    time: Option<Number>,
    #[serde(rename = "Metric")]
    metric: Option<Number>,
    #[serde(rename = "Stack", default)]
    stack: Vec<String>,
}

/// A number, also one in quotes, as some writers have it.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        Ok(Self(match Either::deserialize(from)? {
            Either::Number(value) => value,
            Either::Text(text) => text.trim().parse().unwrap_or(f64::NAN),
        }))
    }
}
