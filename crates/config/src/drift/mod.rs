//! Drift: the same variables in every place from the compose file to the memory of the processes.
//!
//! ```text
//! variable   compose   created-with   image    PID 1 at start   PID 1 now   PID 7 at start
//! DB_HOST    same      same           missing  same             differs     missing
//! ```
//!
//! One column is the reference that the others are compared with: what the compose file says now, else
//! what the container was created with. Values are compared by their fingerprints, so that secrets are
//! compared too.

mod findings;

pub(crate) use findings::{DRIFT, WORKER_MISSES};

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Pid, labels};

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{SourceKind, SourceState};
use crate::readers::{Format, Segment, Unreadable, read};
use crate::resolve::bare;
use crate::secret;
use crate::value::{Redactor, ValueRef};
use crate::variables::{ObservedProcess, ProcessRole, VariableSet};

/// The label in which Compose keeps the hash of a service's configuration.
pub const CONFIG_HASH_LABEL: &str = "com.docker.compose.config-hash";

labels! {
    /// A variable in a place, compared with the reference.
    CellState ("state of a cell") {
        /// It has the value of the reference.
        Same = "same",
        /// It has another value.
        Differs = "differs",
        /// The reference has it, and this place does not.
        Missing = "missing",
        /// This place has it, and the reference does not.
        Extra = "extra",
        /// The place could not be read, or does not say.
        Unknown = "unknown",
    }
}

labels! {
    /// The first test: whether Compose would make the same container today.
    HashState ("state of a configuration hash") {
        /// The container's hash is that of the compose file.
        Same = "same",
        /// It is another one.
        Differs = "differs",
        /// One of the two is not known.
        Unknown = "unknown",
    }
}

/// A place that has variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftColumn {
    /// What it is.
    pub kind: SourceKind,
    /// What it is called.
    pub name: String,
    /// Whether it was read.
    pub state: SourceState,
    /// Why not; empty if it was.
    pub why: String,
    /// Its process; none of files, images and containers.
    pub pid: Option<Pid>,
    /// The part of that process.
    pub role: Option<ProcessRole>,
    /// Whether a variable that it does not have is missing: a dump may hold a part only.
    pub is_whole: bool,
    /// Its variables.
    variables: BTreeMap<String, ValueRef>,
}

/// A variable in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftCell {
    /// How it compares with the reference.
    pub state: CellState,
    /// Its value; none if the place does not have it.
    pub value: Option<ValueRef>,
}

/// A variable in all places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftRow {
    /// The variable.
    pub name: String,
    /// One cell a column.
    pub cells: Vec<DriftCell>,
}

impl DriftRow {
    /// Whether all places that are known to have the variable agree.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.cells.iter().all(|cell| matches!(cell.state, CellState::Same | CellState::Unknown))
    }
}

/// The matrix of one container or process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// What it is about: ``container `web` ``.
    pub subject: String,
    /// Its compose service; none without one.
    pub service: Option<String>,
    /// The places.
    pub columns: Vec<DriftColumn>,
    /// Which column the others are compared with; none if none was read.
    pub reference: Option<usize>,
    /// The variables, by name.
    pub rows: Vec<DriftRow>,
    /// The first test.
    pub hash: HashState,
    /// What is wrong, the worst first.
    pub findings: Vec<ConfigFinding>,
}

/// What a container and its surroundings are compared by.
#[derive(Debug, Clone, Default)]
pub struct DriftRequest {
    /// What it is about.
    pub subject: String,
    /// Its compose service.
    pub service: Option<String>,
    /// The places, in the order of the columns.
    pub columns: Vec<DriftColumn>,
    /// The hash that the container was made with; none if Compose did not make it.
    pub made_with_hash: Option<String>,
    /// The hash of the compose file now; none if that is not known.
    pub hash_now: Option<String>,
}

impl DriftColumn {
    /// The column of a set of variables.
    #[must_use]
    pub fn from_set(set: &VariableSet, role: Option<ProcessRole>, redactor: &Redactor) -> Self {
        let mut variables = BTreeMap::new();
        for (name, value) in &set.variables {
            // Of a name that stands there twice, `getenv(3)` finds the first.
            let known = variables.entry(secret::name(name));
            known.or_insert_with(|| redactor.value(name, value));
        }
        Self {
            kind: set.kind,
            name: set.name.clone(),
            state: set.state,
            why: set.why.clone(),
            pid: set.pid,
            role,
            is_whole: true,
            variables,
        }
    }

    /// The columns of a process: as it started, and now.
    #[must_use]
    pub fn from_process(process: &ObservedProcess, redactor: &Redactor) -> [Self; 2] {
        [&process.initial, &process.now]
            .map(|set| Self::from_set(set, Some(process.role), redactor))
    }

    /// The column of a compose service, from what its files say now.
    #[must_use]
    pub fn from_compose(service: &str, compose: &Configuration) -> Self {
        let start = format!("{service}.");
        let of_service = compose.effective.iter().filter_map(|effective| {
            let name = effective.key.strip_prefix(&start)?;
            let winner = compose.assignments.get(effective.winner?)?;
            Some((name.to_owned(), winner.value.clone()))
        });
        let variables: BTreeMap<String, ValueRef> = of_service.collect();
        let gap = compose.sources.iter().find(|source| source.state.is_gap());
        let (state, why) = match gap {
            Some(source) => (source.state, format!("{}: {}", source.name, source.why)),
            None if variables.is_empty() => {
                (SourceState::Unread, format!("it sets no variable for a service `{service}`"))
            }
            None => (SourceState::Read, String::new()),
        };
        Self {
            kind: SourceKind::ComposeEnvironment,
            name: format!("compose, service {service}"),
            state,
            why,
            pid: None,
            role: None,
            is_whole: true,
            variables,
        }
    }

    /// The column of what an application says of itself. Names are matched with those of variables
    /// later: `Logging:Level` is `Logging__Level`.
    ///
    /// # Errors
    /// When the bytes are malformed.
    pub fn from_dump(name: &str, bytes: &[u8], redactor: &Redactor) -> Result<Self, Unreadable> {
        let format = Format::of_name(name).filter(|format| !format.is_env());
        let contents = read(format.unwrap_or(Format::EnvDocker), bytes)?;
        let mut variables = BTreeMap::new();
        for entry in &contents.entries {
            let parts = entry.path.iter().map(|segment| match segment {
                Segment::Name(name) => name.clone(),
                Segment::Index(at) => at.to_string(),
            });
            let key = parts.collect::<Vec<_>>().join(":");
            let value = redactor.value(&key, &entry.value);
            variables.insert(secret::name(&key), value);
        }
        Ok(Self {
            kind: SourceKind::ApplicationDump,
            name: format!("dump {name}"),
            state: SourceState::Read,
            why: String::new(),
            pid: None,
            role: None,
            is_whole: format.is_none(),
            variables,
        })
    }

    fn get(&self, name: &str) -> Option<&ValueRef> {
        self.variables.get(name)
    }

    fn is_read(&self) -> bool {
        self.state == SourceState::Read
    }

    /// Gives keys of a dump the names of the variables that have the same letters.
    fn rename_like(&mut self, names: &BTreeSet<String>) {
        let by_letters: BTreeMap<String, &String> =
            names.iter().map(|name| (bare(name), name)).collect();
        let variables = std::mem::take(&mut self.variables);
        for (key, value) in variables {
            match by_letters.get(&bare(&key)) {
                Some(name) if !names.contains(&key) => {
                    self.variables.entry((*name).clone()).or_insert(value);
                }
                // What else an application says of itself is no variable.
                None if !self.is_whole => {}
                _ => {
                    self.variables.insert(key, value);
                }
            }
        }
    }
}

/// Compares the places of a request.
#[must_use]
pub fn drift(request: DriftRequest) -> Drift {
    let DriftRequest { subject, service, mut columns, made_with_hash, hash_now } = request;
    let mut names = BTreeSet::new();
    for column in columns.iter().filter(|column| column.kind != SourceKind::ApplicationDump) {
        names.extend(column.variables.keys().cloned());
    }
    for column in &mut columns {
        if column.kind == SourceKind::ApplicationDump {
            column.rename_like(&names);
            names.extend(column.variables.keys().cloned());
        }
    }
    let reference = reference(&columns);
    let rows: Vec<DriftRow> = names
        .into_iter()
        .map(|name| {
            let cells = columns.iter().map(|column| cell(&columns, reference, column, &name));
            DriftRow { cells: cells.collect(), name }
        })
        .collect();
    let hash = match (made_with_hash, hash_now) {
        (Some(made), Some(now)) if made == now => HashState::Same,
        (Some(_), Some(_)) => HashState::Differs,
        _ => HashState::Unknown,
    };
    let mut drift =
        Drift { subject, service, columns, reference, rows, hash, findings: Vec::new() };
    drift.findings = findings::find(&drift);
    drift
}

/// The column that says what should be: the compose file, else the container, else the image, else the
/// start of the process.
fn reference(columns: &[DriftColumn]) -> Option<usize> {
    let order = [
        SourceKind::ComposeEnvironment,
        SourceKind::ContainerEnvironment,
        SourceKind::InitialEnvironment,
        SourceKind::ImageEnvironment,
    ];
    let first = |kind: &SourceKind| {
        columns.iter().position(|column| column.kind == *kind && column.is_read())
    };
    order.iter().find_map(first).or_else(|| columns.iter().position(DriftColumn::is_read))
}

/// What the reference says of a variable: a compose file adds to what its image has.
fn expected<'a>(
    columns: &'a [DriftColumn],
    reference: Option<usize>,
    name: &str,
) -> Option<&'a ValueRef> {
    let reference = columns.get(reference?)?;
    let of_image = || {
        let image = columns.iter().find(|one| one.kind == SourceKind::ImageEnvironment)?;
        image.get(name)
    };
    let is_compose = reference.kind == SourceKind::ComposeEnvironment;
    reference.get(name).or_else(|| if is_compose { of_image() } else { None })
}

fn cell(
    columns: &[DriftColumn],
    reference: Option<usize>,
    column: &DriftColumn,
    name: &str,
) -> DriftCell {
    let value = column.get(name).cloned();
    let expected = expected(columns, reference, name);
    let state = match (&value, expected) {
        _ if !column.is_read() => CellState::Unknown,
        (Some(value), Some(expected)) if value.equals(expected) => CellState::Same,
        (Some(_), Some(_)) => CellState::Differs,
        (Some(_), None) => CellState::Extra,
        (None, Some(_)) if !column.is_whole => CellState::Unknown,
        // The image's variable, seen from the compose file that does not mention it.
        (None, Some(_)) if column.kind == SourceKind::ComposeEnvironment => CellState::Same,
        (None, Some(_)) => CellState::Missing,
        (None, None) => CellState::Same,
    };
    DriftCell { state, value }
}

impl Drift {
    /// Whether a place could not be read.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        self.reference.is_none() || self.columns.iter().any(|column| column.state.is_gap())
    }

    /// The columns that hold the same as an earlier one in every row, each with that one: a service of
    /// many workers is read more easily without them.
    #[must_use]
    pub fn repeated(&self) -> Vec<Option<usize>> {
        let same = |one: usize, other: usize| {
            self.columns[one].kind == self.columns[other].kind
                && self.columns[one].state == self.columns[other].state
                && self.columns[one].why == self.columns[other].why
                && self.rows.iter().all(|row| row.cells[one] == row.cells[other])
        };
        (0..self.columns.len()).map(|at| (0..at).find(|earlier| same(at, *earlier))).collect()
    }
}
