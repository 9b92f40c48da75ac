//! From a profile to the processed form, version 55: the last in which each thread has its own
//! tables, which samply writes and every version of the profiler since reads.

use std::io::{self, Write};

use culprit_model::{Label as _, SelectedRow, Step, ThreadId};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::builder::base_name;
use crate::json::decimal;
use crate::profile::Profile;
use crate::threads::{self, Threads};

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut libs = Libs::default();
    let recording = profile.recording;
    let meta = json!({
        "version": 24,
        "preprocessedProfileVersion": 55,
        "product": recording.meta.command.join(" "),
        "importedFrom": concat!("culprit ", env!("CARGO_PKG_VERSION")),
        super::METRIC: profile.metric.word(),
        "interval": 1,
        "processType": 0,
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": [],
        "extensions": {"baseURL": [], "id": [], "name": [], "length": 0},
        "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]}],
    });
    let mut meta = meta.to_string();
    // The one number of it that may have a fraction.
    meta.truncate(meta.len() - 1);
    write!(
        out,
        "{{\"meta\":{meta},\"startTime\":{}}},",
        decimal(recording.meta.start.realtime, 6)?
    )?;
    out.write_all(b"\"threads\":[")?;
    for (at, (thread, rows)) in Threads::of(profile).iter().enumerate() {
        let mut tables = Tables::default();
        let samples = tables.samples(profile, rows, &mut libs)?;
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{}", thread_json(profile, thread, &tables, &samples)?)?;
    }
    write!(out, "],\"libs\":{}}}", Value::Array(libs.rows))
}

/// Libraries in the order of their first use.
#[derive(Default)]
struct Libs {
    rows: Vec<Value>,
    known: FxHashMap<String, usize>,
}

impl Libs {
    fn index(&mut self, path: &str) -> usize {
        if let Some(known) = self.known.get(path) {
            return *known;
        }
        let name = base_name(path);
        self.rows.push(json!({
            "name": name, "path": path, "debugName": name, "debugPath": path,
            "breakpadId": "", "codeId": null, "arch": null,
        }));
        self.known.insert(path.to_owned(), self.rows.len() - 1);
        self.rows.len() - 1
    }
}

/// A thread's tables under way, column by column.
#[derive(Default)]
struct Tables<'a> {
    strings: Vec<&'a str>,
    string_of: FxHashMap<&'a str, usize>,
    resource_lib: Vec<usize>,
    resource_name: Vec<usize>,
    resource_of: FxHashMap<&'a str, usize>,
    function_name: Vec<usize>,
    function_resource: Vec<i64>,
    function_file: Vec<Option<usize>>,
    frame_function: Vec<usize>,
    frame_line: Vec<Option<u32>>,
    frame_of: FxHashMap<(&'a str, Option<&'a str>, Option<u32>), usize>,
    stack_prefix: Vec<Option<usize>>,
    stack_frame: Vec<usize>,
    stack_of: FxHashMap<(Option<usize>, usize), usize>,
}

impl<'a> Tables<'a> {
    fn samples<'r>(
        &mut self,
        profile: &'a Profile<'_>,
        rows: impl Iterator<Item = &'r SelectedRow>,
        libs: &mut Libs,
    ) -> io::Result<String> {
        let (places, weight_type) = match profile.metric.unit() {
            "ns" => (6, "tracing-ms"),
            "bytes" => (0, "bytes"),
            _ => (0, "samples"),
        };
        let (mut stacks, mut times, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows.filter(|row| row.value > 0) {
            let mut stack = None;
            for step in threads::frames(profile, row) {
                let frame = self.frame(profile, step, libs);
                stack = Some(self.stack(stack, frame));
            }
            stacks.push(stack);
            times.push(decimal(row.time.0, 6)?);
            weights.push(decimal(row.value, places)?);
        }
        Ok(format!(
            "{{\"length\":{},\"weightType\":\"{weight_type}\",\"stack\":{},\"time\":{},\"weight\":{}}}",
            stacks.len(),
            serde_json::to_string(&stacks)?,
            serde_json::to_string(&times)?,
            serde_json::to_string(&weights)?,
        ))
    }

    fn stack(&mut self, prefix: Option<usize>, frame: usize) -> usize {
        *self.stack_of.entry((prefix, frame)).or_insert_with(|| {
            self.stack_prefix.push(prefix);
            self.stack_frame.push(frame);
            self.stack_frame.len() - 1
        })
    }

    fn frame(&mut self, profile: &Profile<'a>, step: &'a Step, libs: &mut Libs) -> usize {
        let (file, line) = threads::source(profile, step);
        if let Some(known) = self.frame_of.get(&(step.name.as_str(), file, line)) {
            return *known;
        }
        let (module, name) = threads::place(profile, step);
        let name = self.string(name);
        let file_name = file.map(|file| self.string(file));
        let resource = module.map(|path| self.resource(path, libs));
        self.function_name.push(name);
        self.function_resource.push(resource.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1));
        self.function_file.push(file_name);
        self.frame_function.push(self.function_name.len() - 1);
        self.frame_line.push(line);
        self.frame_of.insert((&step.name, file, line), self.frame_line.len() - 1);
        self.frame_line.len() - 1
    }

    fn resource(&mut self, path: &'a str, libs: &mut Libs) -> usize {
        if let Some(known) = self.resource_of.get(path) {
            return *known;
        }
        let name = self.string(base_name(path));
        self.resource_lib.push(libs.index(path));
        self.resource_name.push(name);
        self.resource_of.insert(path, self.resource_lib.len() - 1);
        self.resource_lib.len() - 1
    }

    fn string(&mut self, text: &'a str) -> usize {
        *self.string_of.entry(text).or_insert_with(|| {
            self.strings.push(text);
            self.strings.len() - 1
        })
    }

    /// The tables as fields of a thread.
    fn fields(&self) -> Value {
        let (frames, functions) = (self.frame_function.len(), self.function_name.len());
        let resources = self.resource_lib.len();
        let nulls = vec![Value::Null; frames];
        json!({
            "stringArray": self.strings,
            "resourceTable": {
                "length": resources,
                "lib": self.resource_lib,
                "name": self.resource_name,
                "host": vec![Value::Null; resources],
                "type": vec![1; resources],
            },
            "funcTable": {
                "length": functions,
                "name": self.function_name,
                "isJS": vec![false; functions],
                "relevantForJS": vec![false; functions],
                "resource": self.function_resource,
                "fileName": self.function_file,
                "lineNumber": vec![Value::Null; functions],
                "columnNumber": vec![Value::Null; functions],
            },
            "frameTable": {
                "length": frames,
                "address": vec![-1; frames],
                "inlineDepth": vec![0; frames],
                "category": vec![0; frames],
                "subcategory": vec![0; frames],
                "func": self.frame_function,
                "nativeSymbol": nulls,
                "innerWindowID": vec![0; frames],
                "line": self.frame_line,
                "column": nulls,
            },
            "stackTable": {
                "length": self.stack_frame.len(),
                "prefix": self.stack_prefix,
                "frame": self.stack_frame,
            },
            "nativeSymbols":
                {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
            "markers": {
                "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [],
                "startTime": [],
            },
        })
    }
}

/// A thread of the file: who it is, its tables, its samples.
fn thread_json(
    profile: &Profile<'_>,
    thread: Option<ThreadId>,
    tables: &Tables<'_>,
    samples: &str,
) -> io::Result<String> {
    let recording = profile.recording;
    let thread = thread.map(|id| recording.thread(id));
    let process = thread.map(|thread| recording.process(thread.process));
    let mut fields = tables.fields();
    let (pid, tid) = (process.map_or(0, |p| p.pid.0), thread.map_or(0, |t| t.tid.0));
    let who = json!({
        "name": thread.map_or(super::NO_THREAD, |thread| thread.name.as_str()),
        "processName": process.map_or("", |process| process.name.as_str()),
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "isMainThread": pid == tid,
        "showMarkersInTimeline": false,
        "pid": pid.to_string(),
        "tid": tid,
    });
    if let (Value::Object(fields), Value::Object(who)) = (&mut fields, who) {
        fields.extend(who);
    }
    let mut text = serde_json::to_string(&fields)?;
    text.truncate(text.len() - 1);
    Ok(format!("{text},\"samples\":{samples}}}"))
}
