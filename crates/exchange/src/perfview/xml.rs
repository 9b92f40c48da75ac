//! The XML form: frames, stacks and samples by number, or samples with their stack as lines.
//!
//! ```text
//! <StackWindow><StackSource>
//!   <Frames><Frame ID="0">server!main</Frame></Frames>
//!   <Stacks><Stack ID="0" CallerID="-1" FrameID="0"/></Stacks>
//!   <Samples><Sample Time="1.5" StackID="0" Metric="2"/>
//!            <Sample Time="3.5" Metric="1">
//!              server!parse
//!              server!main
//!            </Sample></Samples>
//! </StackSource><StackWindowGuiState>...<ScalingPolicy>TimeMetric</ScalingPolicy>...
//! ```
//!
//! Stacks may be listed before their callers, so they are made when samples ask for them.

use culprit_model::{FrameId, LossKind, StackId};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashMap;

use super::{Sample, Scaling, add};
use crate::builder::Builder;
use crate::format::Refusal;
use crate::input::Input;

/// Frames of one stack: deeper ones run in a circle or are made to exhaust memory.
const DEEPEST: usize = 100_000;

pub(super) fn detect(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head.trim_ascii_start());
    text.starts_with('<') && (text.contains("<StackWindow>") || text.contains("<StackSource"))
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    let mut file = File::new(builder);
    let end = loop {
        match reader.read_event() {
            Ok(Event::Eof) => break None,
            Ok(event) => file.event(event),
            Err(error) => break Some(error.to_string()),
        }
    };
    file.finish(end)
}

/// What an element's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Frame(i64),
    Sample,
    Scaling,
    Nothing,
}

/// A sample, and where its stack is.
#[derive(Debug)]
struct Raw {
    time: f64,
    metric: f64,
    stack: Where,
}

#[derive(Debug)]
enum Where {
    Number(i64),
    Here(Option<StackId>),
}

struct File<'a> {
    builder: &'a mut Builder,
    frames: FxHashMap<i64, FrameId>,
    /// Caller and frame.
    stacks: FxHashMap<i64, (i64, i64)>,
    samples: Vec<Raw>,
    scaling: Scaling,
    inside: Inside,
    text: String,
    malformed: u64,
}

impl<'a> File<'a> {
    fn new(builder: &'a mut Builder) -> Self {
        Self {
            builder,
            frames: FxHashMap::default(),
            stacks: FxHashMap::default(),
            samples: Vec::new(),
            scaling: Scaling::Time,
            inside: Inside::Nothing,
            text: String::new(),
            malformed: 0,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(element) => {
                self.inside = self.element(&element);
                self.text.clear();
            }
            Event::Empty(element) => {
                self.element(&element);
                self.inside = Inside::Nothing;
            }
            Event::Text(text) => self.text.push_str(&String::from_utf8_lossy(&text)),
            Event::CData(text) => self.text.push_str(&String::from_utf8_lossy(&text)),
            Event::GeneralRef(name) => {
                self.text.push_str(&reference(&String::from_utf8_lossy(&name)))
            }
            Event::End(_) => self.end(),
            _ => {}
        }
    }

    fn element(&mut self, element: &BytesStart<'_>) -> Inside {
        match element.local_name().as_ref() {
            b"Frame" => match number(element, "ID") {
                Some(id) => Inside::Frame(id),
                None => {
                    self.malformed += 1;
                    Inside::Nothing
                }
            },
            b"Stack" => {
                let frame = number(element, "FrameID");
                if let (Some(id), Some(frame)) = (number(element, "ID"), frame) {
                    let caller = number(element, "CallerID").unwrap_or(-1);
                    self.stacks.insert(id, (caller, frame));
                } else {
                    self.malformed += 1;
                }
                Inside::Nothing
            }
            b"Sample" => {
                let or = |name, other| match has(element, name) {
                    true => number(element, name).unwrap_or(f64::NAN),
                    false => other,
                };
                let stack = number(element, "StackID");
                self.malformed += u64::from(stack.is_none() && has(element, "StackID"));
                self.samples.push(Raw {
                    time: or("Time", 0.0),
                    metric: or("Metric", 1.0),
                    stack: stack.map_or(Where::Here(None), Where::Number),
                });
                Inside::Sample
            }
            b"ScalingPolicy" => Inside::Scaling,
            _ => Inside::Nothing,
        }
    }

    /// An element ends: what its text says.
    fn end(&mut self) {
        match std::mem::replace(&mut self.inside, Inside::Nothing) {
            Inside::Frame(id) => {
                let frame = self.builder.named(&self.text);
                self.frames.insert(id, frame);
            }
            Inside::Sample => {
                let names = self.text.lines().map(str::trim).filter(|name| !name.is_empty());
                let names: Vec<&str> = names.collect();
                let mut stack = None;
                for name in names.iter().rev() {
                    let frame = self.builder.named(name);
                    stack = Some(self.builder.push(stack, frame));
                }
                if let (Some(sample), Some(_)) = (self.samples.last_mut(), stack) {
                    sample.stack = Where::Here(stack);
                }
            }
            Inside::Scaling if self.text.trim() == "ScaleToData" => self.scaling = Scaling::Data,
            Inside::Scaling | Inside::Nothing => {}
        }
    }

    /// All samples, with their stacks. `damage` is why the rest of the file could not be read.
    fn finish(mut self, damage: Option<String>) -> Result<(), Refusal> {
        if self.samples.is_empty() {
            return Err(damage.unwrap_or_else(|| "it contains no samples".to_owned()));
        }
        let raw = std::mem::take(&mut self.samples);
        let mut known = FxHashMap::default();
        let mut samples = Vec::with_capacity(raw.len());
        let mut lost = 0;
        for Raw { time, metric, stack } in raw {
            let stack = match stack {
                Where::Here(stack) => stack,
                Where::Number(id) => {
                    let stack = self.stack(id, &mut known);
                    lost += u64::from(stack.is_none() && id >= 0);
                    stack
                }
            };
            samples.push(Sample { time, metric, stack });
        }
        add(self.builder, &samples, self.scaling);
        self.lose(lost, damage);
        Ok(())
    }

    fn lose(&mut self, lost: u64, damage: Option<String>) {
        if lost > 0 {
            let what = "samples whose stack is not in the file";
            self.builder.lose(LossKind::StacksMissing, lost, what);
        }
        if self.malformed > 0 {
            let what = "stacks, frames or samples without their numbers";
            self.builder.lose(LossKind::RecordsMalformed, self.malformed, what);
        }
        if let Some(why) = damage {
            let what = format!("the rest of the file is unreadable: {why}");
            self.builder.lose(LossKind::FileDamaged, 1, &what);
        }
    }

    /// The stack of a number; none when it, its frame or a caller is not in the file, or when its
    /// callers run in a circle.
    fn stack(&mut self, id: i64, known: &mut FxHashMap<i64, Option<StackId>>) -> Option<StackId> {
        let mut chain = Vec::new();
        let mut at = id;
        let mut whole = loop {
            if at < 0 {
                break Some(None);
            }
            if let Some(known) = known.get(&at) {
                break known.map(Some);
            }
            let Some((caller, frame)) = self.stacks.get(&at) else { break None };
            let Some(frame) = self.frames.get(frame).copied() else { break None };
            chain.push((at, frame));
            if chain.len() > DEEPEST {
                break None;
            }
            at = *caller;
        };
        for (at, frame) in chain.into_iter().rev() {
            whole = whole.map(|caller| Some(self.builder.push(caller, frame)));
            known.insert(at, whole.flatten());
        }
        whole.flatten()
    }
}

fn has(element: &BytesStart<'_>, name: &str) -> bool {
    element.try_get_attribute(name).is_ok_and(|attribute| attribute.is_some())
}

/// The value of an attribute.
fn number<T: std::str::FromStr>(element: &BytesStart<'_>, name: &str) -> Option<T> {
    let attribute = element.try_get_attribute(name).ok().flatten()?;
    String::from_utf8_lossy(&attribute.value).trim().parse().ok()
}

/// The text that `&NAME;` stands for; itself when it stands for nothing known.
fn reference(name: &str) -> String {
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        },
        None => None,
    };
    let known = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => code.and_then(char::from_u32),
    };
    known.map_or_else(|| format!("&{name};"), String::from)
}

#[cfg(test)]
mod tests {

    fn names(text: &str) -> Vec<Vec<String>> {
        let imported = crate::read_bytes("x", text.as_bytes().to_vec(), None).expect("a file");
        let recording = imported.recording;
        let names = |cost: &culprit_model::Cost| {
            let frames = cost.stack.into_iter().flat_map(|stack| recording.stack(stack));
            frames.map(|frame| recording.frame_name(frame)).collect()
        };
        recording.costs.iter().map(names).collect()
    }

    #[test]
    fn stacks_in_any_order_circles_and_holes() {
        let text = "<StackWindow><StackSource><Frames><Frame ID='0'>a!f&lt;T&gt;</Frame><Frame \
             ID='1'>b</Frame></Frames><Stacks><Stack ID='1' CallerID='0' FrameID='1'/><Stack ID='0' \
             CallerID='-1' FrameID='0'/><Stack ID='2' CallerID='3' FrameID='0'/><Stack ID='3' \
             CallerID='2' FrameID='0'/></Stacks><Samples><Sample Time='0' StackID='1'/><Sample \
             Time='1' StackID='2'/><Sample Time='2' StackID='9'/><Sample Time='3'>\nleaf\nroot\n\
             </Sample></Samples></StackSource></StackWindow>";
        assert_eq!(names(text), [vec!["b", "a!f<T>"], vec![], vec![], vec!["leaf", "root"]]);
    }
}
