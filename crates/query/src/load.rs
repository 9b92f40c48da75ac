//! From recordings to the tables that a question names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use culprit_model::{
    Activity, ActivityEdge, ActivityWork, Cost, Counter, Fault, Frame, InterpreterStack, Interval,
    Loss, Mapping, Mark, Module, Observation, Process, Recording, Row, Sample, Stack, Switch,
    Thread, Wakeup,
};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;

use crate::answer::Opened;
use crate::columns::Batches;
use crate::engine::problem;
use crate::error::Error;
use crate::runtime::Stop;
use crate::schema;
use crate::sources::Source;
use crate::tables::{PathsOf, PlaceFact, RecordingRow, StackPath, facts, row, stream};

/// Builds the intervals of a recording whose recorder never finished it.
pub(crate) type Finish = fn(&mut Recording);

/// The tables of some recordings.
pub(crate) struct Loaded {
    /// By name, with their rows.
    pub(crate) tables: Vec<(&'static str, Arc<dyn TableProvider>)>,
    /// What was opened.
    pub(crate) opened: Vec<Opened>,
}

/// Reads tables of recordings.
pub(crate) struct Loader<'a> {
    /// Which recordings.
    pub(crate) sources: &'a [Source],
    /// How to finish an unfinished one.
    pub(crate) finish: Finish,
    /// What the tables' memory is counted in.
    pub(crate) memory: &'a MemoryReservation,
    /// When to give up.
    pub(crate) stop: &'a Stop,
}

impl Loader<'_> {
    /// The tables of these names, of all recordings together.
    ///
    /// # Errors
    /// When a recording cannot be opened, or there is not enough memory.
    pub(crate) fn load(&self, names: &BTreeSet<&'static str>) -> Result<Loaded, Error> {
        let recordings: Vec<&str> =
            self.sources.iter().map(|source| source.name.as_str()).collect();
        let recordings: ArrayRef = Arc::new(StringArray::from(recordings));
        let mut tables: BTreeMap<&'static str, (Batches, Vec<RecordBatch>)> = BTreeMap::new();
        for table in schema::declared().into_iter().filter(|table| names.contains(table.name)) {
            let batches = Batches::of(table, recordings.clone());
            tables.insert(table.name, (batches, Vec::new()));
        }
        let (mut paths, mut opened) = (Vec::new(), Vec::new());
        for (source, at) in self.sources.iter().zip(0u16..) {
            let mut recording = self.open(source, names)?;
            opened.push(Opened::new(source, &recording));
            for (name, (batches, rows)) in &mut tables {
                if self.stop.is_pulled() {
                    return Err(Error::Stopped);
                }
                if *name == StackPath::TABLE.name {
                    let of = PathsOf::new(batches.clone(), at, recording.stacks.clone());
                    self.grow(of.bytes())?;
                    paths.push(of);
                    continue;
                }
                let more = convert(name, batches, at, source, &mut recording)?;
                self.grow(more.iter().map(RecordBatch::get_array_memory_size).sum())?;
                rows.extend(more);
            }
        }
        let mut all = Vec::new();
        for (name, (batches, rows)) in tables {
            let table: Arc<dyn TableProvider> = if name == StackPath::TABLE.name {
                Arc::new(stream(std::mem::take(&mut paths)).map_err(problem)?)
            } else {
                Arc::new(MemTable::try_new(batches.schema().clone(), vec![rows]).map_err(problem)?)
            };
            all.push((name, table));
        }
        Ok(Loaded { tables: all, opened })
    }

    fn grow(&self, bytes: usize) -> Result<(), Error> {
        self.memory.try_grow(bytes).map_err(problem)
    }

    /// A recording with the rows of these tables.
    fn open(&self, source: &Source, names: &BTreeSet<&'static str>) -> Result<Recording, Error> {
        let mut wanted: Vec<&str> = names.iter().copied().collect();
        if names.contains(StackPath::TABLE.name) {
            wanted.push(Stack::TABLE.name);
        }
        let opened = culprit_recording::open_tables(&source.path, &wanted)?;
        let built = !names.contains(Interval::TABLE.name) || !opened.recording.intervals.is_empty();
        if built || opened.unfinished.is_none() {
            return Ok(opened.recording);
        }
        // The intervals of an unfinished one are made of all its other tables.
        let mut whole = culprit_recording::open(&source.path)?.recording;
        if whole.intervals.is_empty() {
            (self.finish)(&mut whole);
        }
        Ok(whole)
    }
}

/// One recording's rows of a table; the largest are taken out of it, so that they are not held
/// twice for long.
fn convert(
    name: &str,
    batches: &Batches,
    at: u16,
    source: &Source,
    recording: &mut Recording,
) -> Result<Vec<RecordBatch>, Error> {
    macro_rules! tables {
        ($($row:ident: $field:ident,)+) => {
            match name {
                $(n if n == $row::TABLE.name => batches.all(at, &recording.$field),)+
                n if n == RecordingRow::TABLE.name => {
                    batches.all(at, &[row(source, &recording.meta)])
                }
                n if n == PlaceFact::TABLE.name => batches.all(at, &facts(&recording.meta)),
                n if n == Interval::TABLE.name => {
                    batches.all(at, &std::mem::take(&mut recording.intervals))
                }
                other => Err(DataFusionError::Internal(format!("nothing fills `{other}`"))),
            }
        };
    }
    let converted = tables! {
        Process: processes,
        Thread: threads,
        Module: modules,
        Frame: frames,
        Stack: stacks,
        Switch: switches,
        Sample: samples,
        Wakeup: wakeups,
        Fault: faults,
        Mapping: mappings,
        Mark: marks,
        Counter: counters,
        Observation: observations,
        InterpreterStack: interpreter_stacks,
        Cost: costs,
        Activity: activities,
        ActivityWork: activity_work,
        ActivityEdge: activity_edges,
        Loss: losses,
    };
    converted.map_err(problem)
}
