//! Many recordings added up: of several runs, machines, images, versions or days.
//!
//! ```text
//! recording of host a   main < parse < read     3 s     stacks are compared by what
//! recording of host b   main < parse < read     2 s     their frames say
//! ----------------------------------------------------------------
//! fleet                 main < parse < read     5 s     or 3 s below `Host a`, 2 s below `Host b`
//! ```
//!
//! Two frames are one if module (by build id, where it has one), function, file and line are the same.
//! Addresses differ between machines, and numbers of processes and threads between runs: neither is
//! compared. The sum is a [`Recording`] of costs, so every view works on it. It does not know when
//! anything happened.

mod tables;

use culprit_model::{
    Cause, Cost, Frame, FrameId, Guess, Metric, Module, ModuleId, Nanos, Recording, SelectedRow,
    Selection, Source, Stack, StackId, Step, Text, Time,
};
use rustc_hash::FxHashMap;

pub use tables::{FleetFindingRow, FleetFrame, FleetRecording, FleetSample, origin, stack_hashes};

/// What recordings can be grouped by, as the frame that stands for a group begins.
pub const GROUP_KINDS: [&str; 5] = ["Host ", "Image ", "Version ", "Day ", "Label "];

/// What makes a module: its name, with the build id or, where it has none, the path.
type ModuleKey = (Text, Text);

/// What makes a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FrameKey {
    module: Option<ModuleId>,
    function: Text,
    file: Option<Text>,
    line: Option<u32>,
    inlined: bool,
    guessed: Option<Guess>,
}

impl FrameKey {
    /// The key of a frame whose module is the fleet's.
    fn new(frame: &Frame, module: Option<ModuleId>) -> Self {
        Self {
            module,
            function: frame.function.clone(),
            file: frame.file.clone(),
            line: frame.line,
            inlined: frame.inlined,
            guessed: frame.guessed,
        }
    }

    /// Of a name that is no code.
    fn plain(name: &str) -> Self {
        Self::new(&Frame::new(None, name, None), None)
    }
}

/// The value and the rows of one stack.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    value: u64,
    count: u64,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.value = self.value.saturating_add(other.value);
        self.count = self.count.saturating_add(other.count);
    }
}

/// A frame of a stack whose recording is not at hand, as [`FleetFrame`] has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumFrame {
    /// `module!function`, a process, a thread, or a cause.
    pub name: Text,
    /// Source file, if known.
    pub file: Option<Text>,
    /// Build id of the module, if it has one.
    pub build_id: Option<Text>,
}

/// A sum of recordings under construction.
#[derive(Debug)]
pub struct Fleet {
    metric: Metric,
    modules: FxHashMap<ModuleKey, ModuleId>,
    frames: FxHashMap<FrameKey, FrameId>,
    nodes: FxHashMap<(Option<StackId>, FrameId), StackId>,
    /// By stack and cause; in the order of their first use in `order`.
    sums: FxHashMap<(Option<StackId>, Option<Cause>), Amount>,
    order: Vec<(Option<StackId>, Option<Cause>)>,
    made: Recording,
}

impl Fleet {
    /// A sum of nothing, in this metric.
    #[must_use]
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            modules: FxHashMap::default(),
            frames: FxHashMap::default(),
            nodes: FxHashMap::default(),
            sums: FxHashMap::default(),
            order: Vec::new(),
            made: Recording::default(),
        }
    }

    /// Adds rows that a query without frames, and without the numbers of processes and threads, has
    /// selected of a recording. `group` is the frame that they stand below. Linear in rows and in
    /// distinct stacks.
    pub fn add(&mut self, recording: &Recording, selection: &Selection, group: Option<&str>) {
        let root = group.map(|name| {
            let frame = self.frame(FrameKey::plain(name));
            self.node(None, frame)
        });
        let mut modules = vec![None; recording.modules.len()];
        let mut steps: Vec<StackId> = Vec::with_capacity(selection.steps.len());
        for step in &selection.steps {
            let key = match step.source {
                Source::Frame(id) => {
                    let frame = recording.frame(id);
                    match frame.module {
                        Some(module) => {
                            let known = &mut modules[module.index()];
                            let module =
                                *known.get_or_insert_with(|| self.module(recording.module(module)));
                            FrameKey::new(frame, Some(module))
                        }
                        // A link to a thread has lost its number in the name.
                        None => {
                            FrameKey { function: step.name.clone(), ..FrameKey::new(frame, None) }
                        }
                    }
                }
                _ => FrameKey::plain(&step.name),
            };
            let frame = self.frame(key);
            let parent = step.parent.and_then(|id| steps.get(id.index()).copied()).or(root);
            let node = self.node(parent, frame);
            steps.push(node);
        }
        for row in &selection.rows {
            let last = row.leaf.map(|id| &selection.steps[id.index()]);
            let cause = last.and_then(cause_of);
            let leaf = row.leaf.and_then(|id| steps.get(id.index()).copied()).or(root);
            self.add_amount((leaf, cause), amount(row));
        }
    }

    /// Adds what a stack weighs: its frames, outermost first, and its value with the rows behind it.
    pub fn add_stack(
        &mut self,
        stack: &[SumFrame],
        group: Option<&str>,
        cause: Option<Cause>,
        (value, count): (u64, u64),
    ) {
        let mut leaf = group.map(|name| {
            let frame = self.frame(FrameKey::plain(name));
            self.node(None, frame)
        });
        for SumFrame { name, file, build_id } in stack {
            let key = match name.split_once('!') {
                Some((module, function)) if module != "?" => {
                    let module = Module {
                        name: module.into(),
                        path: module.into(),
                        build_id: build_id.clone(),
                        symbols: true,
                        lines: false,
                    };
                    let module = self.module(&module);
                    let function = Frame::new(None, function, None);
                    FrameKey { file: file.clone(), ..FrameKey::new(&function, Some(module)) }
                }
                _ => FrameKey { file: file.clone(), ..FrameKey::plain(name) },
            };
            let frame = self.frame(key);
            leaf = Some(self.node(leaf, frame));
        }
        self.add_amount((leaf, cause), Amount { value, count });
    }

    /// Adds another sum of the same metric: the same as adding its recordings one by one.
    pub fn merge(&mut self, other: &Self) {
        let made = &other.made;
        let modules: Vec<ModuleId> =
            made.modules.iter().map(|module| self.module(module)).collect();
        let frame = |fleet: &mut Self, frame: &Frame| {
            fleet.frame(FrameKey::new(frame, frame.module.map(|id| modules[id.index()])))
        };
        let frames: Vec<FrameId> = made.frames.iter().map(|row| frame(self, row)).collect();
        let mut stacks: Vec<StackId> = Vec::with_capacity(made.stacks.len());
        for row in &made.stacks {
            let parent = row.parent.map(|id| stacks[id.index()]);
            stacks.push(self.node(parent, frames[row.frame.index()]));
        }
        for key @ (stack, cause) in &other.order {
            let amount = other.sums.get(key).copied().unwrap_or_default();
            self.add_amount((stack.map(|id| stacks[id.index()]), *cause), amount);
        }
    }

    /// The sum as a recording: one cost for each stack and cause.
    #[must_use]
    pub fn finish(self) -> Recording {
        let mut made = self.made;
        for key in &self.order {
            let Amount { value, count } = self.sums.get(key).copied().unwrap_or_default();
            made.costs.push(Cost {
                thread: None,
                time: Time::START,
                duration: Nanos::ZERO,
                stack: key.0,
                metric: self.metric,
                cause: key.1,
                value,
                count,
                variance: None,
            });
        }
        made
    }

    /// The sum of all values.
    #[must_use]
    pub fn total(&self) -> u64 {
        let values = self.order.iter().filter_map(|key| self.sums.get(key));
        values.fold(0, |sum, amount| sum.saturating_add(amount.value))
    }

    fn add_amount(&mut self, key: (Option<StackId>, Option<Cause>), amount: Amount) {
        let order = &mut self.order;
        let sum = self.sums.entry(key).or_insert_with(|| {
            order.push(key);
            Amount::default()
        });
        sum.add(amount);
    }

    fn module(&mut self, module: &Module) -> ModuleId {
        let tells = module.build_id.as_ref().unwrap_or(&module.path);
        let key = (module.name.clone(), tells.clone());
        let modules = &mut self.made.modules;
        *self.modules.entry(key).or_insert_with(|| {
            modules.push(module.clone());
            ModuleId::from_index(modules.len() - 1)
        })
    }

    fn frame(&mut self, key: FrameKey) -> FrameId {
        if let Some(known) = self.frames.get(&key) {
            return *known;
        }
        let FrameKey { module, function, file, line, inlined, guessed } = key.clone();
        let frame = Frame { file, line, inlined, guessed, ..Frame::new(module, function, None) };
        self.made.frames.push(frame);
        let id = FrameId::from_index(self.made.frames.len() - 1);
        self.frames.insert(key, id);
        id
    }

    fn node(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let stacks = &mut self.made.stacks;
        *self.nodes.entry((parent, frame)).or_insert_with(|| {
            stacks.push(Stack { parent, frame });
            StackId::from_index(stacks.len() - 1)
        })
    }
}

fn cause_of(step: &Step) -> Option<Cause> {
    match step.source {
        Source::Cause(cause) => Some(cause),
        _ => None,
    }
}

fn amount(row: &SelectedRow) -> Amount {
    Amount { value: row.value, count: row.count }
}

#[cfg(test)]
mod tests {
    use culprit_model::Filter;
    use culprit_model::notation::parse;

    use super::*;
    use crate::calls::{CallTree, Query, by_name, select};

    const DRAWN: &str = "
        tick 1ms
        stack u cpu.user app!main;app!parse
        stack l blocked.lock app!main;libc!lock
        app(PID)/main(PID) uuulll|
        root app(PID)";

    /// The drawing as another machine has it: other numbers, and code at other addresses.
    fn of_machine(number: u64) -> Recording {
        let mut recording = parse(&DRAWN.replace("PID", &(number * 100).to_string())).unwrap();
        for frame in &mut recording.frames {
            frame.address = Some(number * 0x1000);
        }
        for module in &mut recording.modules {
            module.build_id = Some(format!("id of {}", module.name).into());
            module.path = format!("/machine{number}/{}", module.name).into();
        }
        recording
    }

    fn filter() -> Filter {
        Filter { erase_ids: true, ..Filter::default() }
    }

    fn add(fleet: &mut Fleet, recording: &Recording, group: Option<&str>) {
        let query = Query::compile(&filter()).unwrap();
        fleet.add(recording, &select(recording, &query), group);
    }

    fn names(recording: &Recording) -> Vec<(String, u64)> {
        let tree = CallTree::of(recording, &Query::compile(&filter()).unwrap());
        let mut rows: Vec<_> =
            by_name(&tree).into_iter().map(|row| (row.name.to_string(), row.inc)).collect();
        rows.sort();
        rows
    }

    #[test]
    fn the_same_function_meets_although_addresses_paths_and_numbers_differ() {
        let mut fleet = Fleet::new(Metric::Wall);
        (1..=3).for_each(|number| add(&mut fleet, &of_machine(number), None));
        let sum = fleet.finish();
        assert_eq!(sum.costs.len(), 2);
        assert_eq!(sum.modules.len(), 2);
        let one = names(&of_machine(1));
        let three: Vec<_> = one.into_iter().map(|(name, value)| (name, value * 3)).collect();
        assert_eq!(names(&sum), three);
    }

    #[test]
    fn groups_stand_at_the_root_and_add_up() {
        let mut fleet = Fleet::new(Metric::Wall);
        add(&mut fleet, &of_machine(1), Some("Host a"));
        add(&mut fleet, &of_machine(2), Some("Host b"));
        add(&mut fleet, &of_machine(3), Some("Host b"));
        assert_eq!(fleet.total(), 18_000_000);
        let rows = names(&fleet.finish());
        let of = |name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.1);
        assert_eq!((of("Host a"), of("Host b")), (Some(6_000_000), Some(12_000_000)));
        assert_eq!(of("app!parse"), Some(9_000_000));
    }

    #[test]
    fn sums_of_parts_are_the_sum_of_the_whole() {
        let (mut whole, mut left, mut right) =
            (Fleet::new(Metric::Wall), Fleet::new(Metric::Wall), Fleet::new(Metric::Wall));
        for number in 1..=4 {
            let group = if number % 2 == 0 { "Host a" } else { "Host b" };
            add(&mut whole, &of_machine(number), Some(group));
            add(if number < 3 { &mut left } else { &mut right }, &of_machine(number), Some(group));
        }
        left.merge(&right);
        assert_eq!(left.finish(), whole.finish());
    }

    #[test]
    fn stacks_of_machines_have_one_hash_and_stacks_of_builds_have_two() {
        let hashes = |recording: &Recording| {
            let query = Query::compile(&filter()).unwrap();
            let selection = select(recording, &query);
            let hashes = stack_hashes(recording, &selection);
            let leaves = selection.rows.iter().filter_map(|row| row.leaf);
            leaves.map(|leaf| hashes[leaf.index()]).collect::<std::collections::BTreeSet<u64>>()
        };
        let one = hashes(&of_machine(1));
        assert_eq!(one.len(), 2);
        assert_eq!(hashes(&of_machine(2)), one);
        let mut other = of_machine(2);
        other.modules.iter_mut().for_each(|module| module.build_id = Some("another".into()));
        assert!(hashes(&other).is_disjoint(&one));
    }

    #[test]
    fn stacks_of_tables_are_the_stacks_of_their_recordings() {
        let recording = of_machine(1);
        let selection = select(&recording, &Query::compile(&filter()).unwrap());
        let mut tables = Fleet::new(Metric::Wall);
        for row in &selection.rows {
            let mut frames: Vec<SumFrame> = selection
                .stack(row.leaf)
                .map(|step| {
                    let (file, build_id) = origin(&recording, step.source);
                    let (file, build_id) = (file.cloned(), build_id.cloned());
                    SumFrame { name: step.name.clone(), file, build_id }
                })
                .collect();
            frames.reverse();
            let cause = row.leaf.and_then(|leaf| cause_of(&selection.steps[leaf.index()]));
            tables.add_stack(&frames, Some("Host a"), cause, (row.value, row.count));
        }
        let mut fleet = Fleet::new(Metric::Wall);
        add(&mut fleet, &recording, Some("Host a"));
        let (expected, made) = (fleet.finish(), tables.finish());
        assert_eq!(names(&made), names(&expected));
        assert_eq!(made.costs.len(), expected.costs.len());
        let ids = |recording: &Recording| {
            recording.modules.iter().map(|module| module.build_id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&made), ids(&expected));
    }

    #[test]
    fn another_build_of_a_module_is_another_frame() {
        let mut other = of_machine(2);
        other.modules[0].build_id = Some("another".into());
        let mut fleet = Fleet::new(Metric::Wall);
        add(&mut fleet, &of_machine(1), None);
        add(&mut fleet, &other, None);
        let sum = fleet.finish();
        assert_eq!(sum.modules.len(), 3);
        // Views show names, so there it is one row.
        let rows = names(&sum);
        assert_eq!(rows.iter().filter(|row| row.0 == "app!parse").count(), 1);
    }
}
