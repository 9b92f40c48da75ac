//! Functions by their own and total time.
//!
//! The last frame of every wall-clock stack is its cause, so a function ends no stack itself, and
//! above it every wait stands in the scheduler. What people want to know is where threads *were*.
//! So a function's own time is told beside the exclusive value of the tree's rows:
//!
//! ```text
//! main < read_row < libc!read < [kernel]!ksys_read < ... < [kernel]!schedule < blocked.pipe
//!                   own: off a CPU, the function that called into the kernel
//! main < parse < [kernel]!exc_page_fault < cpu.kernel
//!                own: on a CPU, the function that ran
//! ```

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, NameId, NodeId, by_name};
use culprit_engine::fleet::GROUP_KINDS;
use culprit_engine::own::CodeOrigin;
use culprit_engine::run_time::is_link_name;
use culprit_model::{Cause, Label as _, Text, Time, clean, is_kernel_module};

use super::columns::{Column, table};
use super::cpi::Cpi;
use super::errors::StandardErrors;
use super::places::{FunctionPlace, FunctionPlaces};
use super::{relative, share, value};
use crate::layout::{Align, Layout, Table, bar, shares};
use crate::units::{number, percent};

/// The library that samples allocations, as recordings name it.
pub const SAMPLER_MODULE: &str = "libculprit-alloc.so";

/// One function's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name's number in its tree.
    pub id: NameId,
    /// `module!function`, or a cause.
    pub name: String,
    /// What the name names.
    pub kind: Kind,
    /// Value in itself, see the module.
    pub own: u64,
    /// The same as a share of the total.
    pub own_share: f64,
    /// The own value by cause, ordered by cause.
    pub causes: Vec<(Cause, u64)>,
    /// Value that ended at the name as a frame: for causes, and where folding moved it.
    pub exc: u64,
    /// The same as a share of the total.
    pub exc_share: f64,
    /// Value in itself and what it calls.
    pub total: u64,
    /// The same as a share of the total.
    pub total_share: f64,
    /// Rows of the recording behind the total.
    pub count: u64,
    /// Rows that ended at the name.
    pub exc_count: u64,
    /// The part of the exclusive value that folding moved here.
    pub fold: u64,
    /// The rows that folding moved here.
    pub fold_count: u64,
    /// Start of the first row.
    pub first: Time,
    /// End of the last row.
    pub last: Time,
}

/// What a frame's name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function, or a stack that was lost.
    Function,
    /// A group of recordings, a process, activity or thread at the root end, or a thread that was waited for.
    Thread,
    /// A cause at the leaf end.
    Cause,
}

impl Kind {
    /// What a name of a tree names.
    #[must_use]
    pub fn of(name: &str) -> Self {
        const ROOTS: [&str; 5] =
            ["Process ", "Thread ", "Activity ", "(Activities)", "(Non-Activities)"];
        let root = || ROOTS.iter().chain(&GROUP_KINDS).any(|root| name.starts_with(root));
        if Cause::from_word(name).is_some() {
            Self::Cause
        } else if is_link_name(name) || (!name.contains('!') && root()) {
            Self::Thread
        } else {
            Self::Function
        }
    }
}

/// Whether a frame is the kernel's: `[kernel]!...` or a module of it, `[overlay]!...`. The other
/// names in brackets are of user space.
#[must_use]
pub fn is_kernel(name: &str) -> bool {
    name.split_once('!').is_some_and(|(module, _)| is_kernel_module(module))
}

/// Whether a frame is of an allocation: a block's size, or a function of the library that samples, which stands
/// for the allocator's. What was allocated is its caller's own.
fn is_allocation(name: &str) -> bool {
    name.split_once('!').is_some_and(|(module, _)| module == SAMPLER_MODULE || module == "[size]")
}

/// One row a name in the tree: functions by falling own value, then by falling total.
#[must_use]
pub fn functions(tree: &CallTree) -> Vec<Function> {
    let whole = tree.total();
    let own = Own::of(tree);
    let mut rows: Vec<Function> = by_name(tree)
        .into_iter()
        .map(|row| {
            let causes: Vec<(Cause, u64)> = own.causes(row.id);
            let kind = Kind::of(&row.name);
            let moved: u64 = causes.iter().map(|(_, value)| value).sum();
            let own = if kind == Kind::Cause { 0 } else { moved + own.uncaused[row.id.index()] };
            Function {
                id: row.id,
                name: row.name.to_string(),
                kind,
                own,
                own_share: share(own, whole),
                causes,
                exc: row.exc,
                exc_share: share(row.exc, whole),
                total: row.inc,
                total_share: share(row.inc, whole),
                count: row.count,
                exc_count: row.exc_count,
                fold: row.fold,
                fold_count: row.fold_count,
                first: row.first,
                last: row.last,
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.own.cmp(&a.own)).then(b.total.cmp(&a.total)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// What a name is to [`Own`].
#[derive(Clone, Copy)]
struct Role {
    kind: Kind,
    cause: Option<Cause>,
    kernel: bool,
    allocation: bool,
}

/// Values that are names' own, by number of name.
struct Own {
    /// Where the sums of a name are; none for names that have none.
    place: Vec<Option<u32>>,
    /// By cause: of those whose own time it is, and of causes folded into them.
    sums: Vec<[u64; Cause::ALL.len()]>,
    /// What ended at the name without a cause: of metrics that are no time, and of imports that do
    /// not say why time passed.
    uncaused: Vec<u64>,
}

/// What each name of a tree is.
fn roles(tree: &CallTree) -> Vec<Role> {
    let names = tree.names();
    let role = |name| {
        let text = names.text(name);
        let (kind, cause) = (Kind::of(text), Cause::from_word(text));
        Role { kind, cause, kernel: is_kernel(text), allocation: is_allocation(text) }
    };
    names.ids().map(role).collect()
}

/// Values by function: what passed in a stack counts for the nearest function of the program's own code
/// in it, as findings point at it; where there is none, for the function whose own time it is.
#[must_use]
pub fn own_code_times(
    tree: &CallTree,
    origins: &BTreeMap<String, CodeOrigin>,
) -> BTreeMap<Text, u64> {
    let names = tree.names();
    let mut times: BTreeMap<Text, u64> = BTreeMap::new();
    for PlacedTime { nearest, value, .. } in placed_times(tree, origins) {
        if value > 0 && Kind::of(names.text(nearest)) == Kind::Function {
            *times.entry(names.text(nearest).clone()).or_default() += value;
        }
    }
    times
}

/// For each function that is not the program's own, the one of the program's own code that more than half of its
/// time passed for: who a wait in the C library belongs to.
#[derive(Debug, Default)]
pub struct CalledFrom(BTreeMap<NameId, Text>);

impl CalledFrom {
    /// Finds them for the names of a tree. A function without a name is nobody's: `[jit]!?`.
    #[must_use]
    pub fn of(tree: &CallTree, mut origins: BTreeMap<String, CodeOrigin>) -> Self {
        let names = tree.names();
        origins.retain(|name, _| !name.ends_with("!?"));
        let mut values: BTreeMap<NameId, BTreeMap<NameId, u64>> = BTreeMap::new();
        let mut wholes: BTreeMap<NameId, u64> = BTreeMap::new();
        for PlacedTime { holder, nearest, origin, value } in placed_times(tree, &origins) {
            *wholes.entry(holder).or_default() += value;
            if holder != nearest && origin == CodeOrigin::Own {
                *values.entry(holder).or_default().entry(nearest).or_default() += value;
            }
        }
        let most = |name: NameId, callers: BTreeMap<NameId, u64>| {
            let whole = wholes.get(&name).copied().unwrap_or_default();
            let found = callers.into_iter().max_by_key(|(_, value)| *value)?;
            (found.1 > whole / 2).then_some(found.0)
        };
        let callers =
            values.into_iter().filter_map(|(name, callers)| Some((name, most(name, callers)?)));
        Self(callers.map(|(name, caller)| (name, names.text(caller).clone())).collect())
    }

    /// The function of the program's own code that a name's time is for; none where it is one itself, and where
    /// only the runtime and the system are on the stacks.
    #[must_use]
    pub fn own_code(&self, name: NameId) -> Option<&str> {
        self.0.get(&name).map(Text::as_str)
    }
}

/// One value of a tree, and whose it is.
struct PlacedTime {
    /// The function whose own it is.
    holder: NameId,
    /// The innermost function of the best origin on the stack.
    nearest: NameId,
    /// Whose code that is.
    origin: CodeOrigin,
    value: u64,
}

fn placed_times(
    tree: &CallTree,
    origins: &BTreeMap<String, CodeOrigin>,
) -> impl Iterator<Item = PlacedTime> {
    let (names, roles) = (tree.names(), roles(tree));
    let origin = |name| origins.get(names.text(name).as_str()).copied().unwrap_or_default();
    let origins: Vec<CodeOrigin> = names.ids().map(origin).collect();
    tree.ended_below(NodeId::ROOT).map(move |(at, cause, value)| {
        let name = |node: NodeId| tree.node(node).name;
        let origin = |node| origins[name(node).index()];
        let holder = match (cause, roles[name(at).index()].cause, tree.node(at).parent) {
            (Some(_), Some(shown), Some(parent)) => holder(tree, &roles, parent, shown),
            _ => at,
        };
        let mut nearest = holder;
        for above in std::iter::successors(Some(at), |node| tree.node(*node).parent) {
            // Walking outwards, the first of the best origin is the innermost.
            if origin(above) > origin(nearest) {
                nearest = above;
            }
        }
        PlacedTime { holder: name(holder), nearest: name(nearest), origin: origin(nearest), value }
    })
}

impl Own {
    fn of(tree: &CallTree) -> Self {
        let roles = roles(tree);
        let mut own = Self {
            place: vec![None; roles.len()],
            sums: Vec::new(),
            uncaused: vec![0; roles.len()],
        };
        for (at, cause, value) in tree.ended_below(NodeId::ROOT) {
            let node = tree.node(at);
            let Some(cause) = cause else {
                let name = tree.node(allocating(tree, &roles, at)).name;
                own.uncaused[name.index()] += value;
                continue;
            };
            let holder = match (roles[node.name.index()].cause, node.parent) {
                (Some(shown), Some(parent)) => tree.node(holder(tree, &roles, parent, shown)).name,
                _ => node.name,
            };
            own.add(holder, cause, value);
        }
        own
    }

    fn add(&mut self, name: NameId, cause: Cause, value: u64) {
        let sums = &mut self.sums;
        let place = *self.place[name.index()].get_or_insert_with(|| {
            sums.push([0; Cause::ALL.len()]);
            u32::try_from(sums.len() - 1).unwrap_or(u32::MAX)
        });
        sums[place as usize][usize::from(cause.code())] += value;
    }

    /// A name's own value by cause, in the order of causes; no zeros.
    fn causes(&self, name: NameId) -> Vec<(Cause, u64)> {
        let sums = self.place[name.index()].map(|place| &self.sums[place as usize]);
        let causes = sums.into_iter().flat_map(|sums| Cause::ALL.iter().zip(sums));
        causes.filter(|(_, value)| **value > 0).map(|(cause, value)| (*cause, *value)).collect()
    }
}

/// The node whose own an amount at `at` is: of an allocation, the function that called the allocator.
fn allocating(tree: &CallTree, roles: &[Role], at: NodeId) -> NodeId {
    let role = |node: &NodeId| roles[tree.node(*node).name.index()];
    let mut up = std::iter::successors(Some(at), |node| tree.node(*node).parent);
    let caller = up.find(|node| !role(node).allocation);
    caller.filter(|node| role(node).kind == Kind::Function).unwrap_or(at)
}

/// The node whose own time a cause below `at` is.
fn holder(tree: &CallTree, roles: &[Role], at: NodeId, cause: Cause) -> NodeId {
    if cause.is_cpu() {
        return at;
    }
    let role = |node: &NodeId| roles[tree.node(*node).name.index()];
    let mut up = std::iter::successors(Some(at), |node| tree.node(*node).parent);
    let caller = up.find(|node| !role(node).kernel);
    // A kernel thread has no function of its own above the kernel's.
    caller.filter(|node| role(node).kind == Kind::Function).unwrap_or(at)
}

/// What is known of functions besides their values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Cycles per instruction.
    pub cpi: Option<&'a Cpi>,
    /// The standard errors of values that were estimated.
    pub errors: Option<&'a StandardErrors>,
    /// Functions of the program's own code.
    pub called_from: Option<&'a CalledFrom>,
    /// Files and lines of functions.
    pub places: Option<&'a FunctionPlaces>,
}

impl Beside<'_> {
    /// Where to look for a row: at its function of the program's own code, else at itself.
    fn place(&self, row: &Function) -> Option<&FunctionPlace> {
        let places = self.places?;
        let caller = self.called_from.and_then(|callers| callers.own_code(row.id));
        caller.map_or_else(|| places.get(&row.name), |caller| places.get(caller))
    }
}

/// `top` as text: where threads were, the sums by cause above it, and what else is known of functions.
#[must_use]
pub fn top_text(tree: &CallTree, beside: Beside<'_>, limit: usize, layout: &Layout) -> String {
    let Beside { cpi, errors, called_from, .. } = beside;
    let rows = functions(tree);
    let metric = tree.metric();
    let whole = tree.total();
    let mut functions: Vec<_> = rows.iter().filter(|row| row.kind == Kind::Function).collect();
    if functions.is_empty() {
        // Where last frames stand alone, those of thread time are causes.
        functions = rows.iter().collect();
    }
    let shown = if limit == 0 { functions.len() } else { limit.min(functions.len()) };
    let mut headings = vec![
        ("own", Align::Right),
        ("", Align::Right),
        ("total", Align::Right),
        ("", Align::Right),
        ("main cause", Align::Left),
        ("function", Align::Left),
    ];
    let own_code = |row: &Function| called_from.and_then(|callers| callers.own_code(row.id));
    // Where every function is the program's own, the column would be empty.
    let called = functions[..shown].iter().any(|row| own_code(row).is_some());
    if called {
        headings.push(("called from", Align::Left));
    }
    let placed = functions[..shown].iter().any(|row| beside.place(row).is_some());
    if placed {
        headings.push(("at", Align::Left));
    }
    headings.splice(4..4, cpi.map(|_| ("cpi", Align::Right)));
    if errors.is_some() {
        headings.insert(4, ("error", Align::Right));
        headings.insert(2, ("error", Align::Right));
    }
    let mut table = Table::new(&headings);
    for row in &functions[..shown] {
        let mostly = row.causes.iter().max_by_key(|(_, value)| *value);
        let ratio = |cpi: &Cpi| cpi.own(&row.name).map_or_else(String::new, number);
        let mut cells = vec![
            value(metric, row.own),
            percent(row.own_share),
            value(metric, row.total),
            percent(row.total_share),
            mostly.map_or_else(String::new, |(cause, _)| cause.to_string()),
            clean(&row.name).into_owned(),
        ];
        if called {
            cells.push(own_code(row).map_or_else(String::new, |name| clean(name).into_owned()));
        }
        if placed {
            let label = beside.place(row).map(FunctionPlace::label);
            cells.push(clean(&label.unwrap_or_default()).into_owned());
        }
        cells.splice(4..4, cpi.map(ratio));
        if let Some(errors) = errors {
            cells.insert(4, error_text(errors.total(&row.name, row.total), row.total));
            cells.insert(2, error_text(errors.own(&row.name, row.own), row.own));
        }
        table.row(cells);
    }
    let mut text = summary(tree, layout);
    text.push_str(&table.sharing().render(layout.width_of_values()));
    if shown < functions.len() {
        text.push_str(&format!(
            "{} more functions; `--limit 0` shows all. The total is {}.\n",
            functions.len() - shown,
            value(metric, whole)
        ));
    }
    text
}

/// A standard error as a share of its value.
fn error_text(error: Option<f64>, value: u64) -> String {
    match error {
        Some(error) if value > 0 => format!("±{}", percent(relative(error, value))),
        _ => String::new(),
    }
}

/// `top` with chosen columns: every name, the largest first.
#[must_use]
pub fn columns_text(tree: &CallTree, columns: &[Column], limit: usize, layout: &Layout) -> String {
    let mut rows = functions(tree);
    rows.sort_by_key(|row| std::cmp::Reverse(row.own.max(row.exc)));
    let all = rows.len();
    if limit > 0 {
        rows.truncate(limit);
    }
    let mut text = summary(tree, layout);
    text.push_str(&table(tree, &rows, columns).render(layout.width_of_values()));
    if rows.len() < all {
        text.push_str(&format!("{} more names; `--limit 0` shows all.\n", all - rows.len()));
    }
    text
}

/// The causes of the whole in one line with a bar.
fn summary(tree: &CallTree, layout: &Layout) -> String {
    let causes: Vec<_> = tree
        .causes(NodeId::ROOT)
        .into_iter()
        .map(|(cause, value)| (cause, culprit_model::Nanos(value)))
        .collect();
    if causes.is_empty() {
        return "\n".to_owned();
    }
    let sum = culprit_model::Nanos(tree.total());
    format!("{}  {}\n\n", bar(&causes, sum, 30, layout.paint()), shares(&causes, sum, 5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use culprit_engine::calls::Patterns;
    use culprit_engine::own::OwnCode;
    use culprit_model::{Filter, Metric};

    #[test]
    fn own_times_of_functions_add_up_to_the_whole() {
        let tree = crate::shown::tree(&testing::recording(), &Filter::default()).unwrap();
        let rows = functions(&tree);
        let own: u64 = rows.iter().map(|row| row.own).sum();
        let ended: u64 = rows.iter().map(|row| row.exc).sum();
        assert_eq!((own, ended), (tree.total(), tree.total()));
        let named = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(named("libc.so.6!clock_nanosleep").own, 100_000_000);
        assert_eq!(named("blocked.sleep").exc, 100_000_000);
        assert_eq!(rows[0].name, "libc.so.6!clock_nanosleep");
    }

    #[test]
    fn all_time_counts_for_one_function_of_the_programs_own_code() {
        let recording = testing::recording();
        let tree = crate::shown::tree(&recording, &Filter::default()).unwrap();
        let times = |own: &str| {
            let own = OwnCode::new(&recording, &Patterns::parse(own).unwrap());
            own_code_times(&tree, &own.by_name(&recording))
        };
        let usual = times("");
        assert_eq!(usual.values().sum::<u64>(), tree.total());
        assert!(usual.keys().all(|name| name.starts_with("app!")), "{usual:?}");
        assert_eq!(times("clock_nanosleep")["libc.so.6!clock_nanosleep"], 100_000_000);
    }

    #[test]
    fn a_wait_in_a_library_is_called_from_the_programs_own_code() {
        let recording = testing::recording();
        let tree = crate::shown::tree(&recording, &Filter::default()).unwrap();
        let own = OwnCode::new(&recording, &Patterns::parse("").unwrap());
        let callers = CalledFrom::of(&tree, own.by_name(&recording));
        let rows = functions(&tree);
        let caller = |name: &str| {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            callers.own_code(row.id).map(str::to_owned)
        };
        assert!(caller("libc.so.6!clock_nanosleep").unwrap().starts_with("app!"));
        let own: Vec<&Function> = rows.iter().filter(|row| row.name.starts_with("app!")).collect();
        assert!(!own.is_empty() && own.iter().all(|row| callers.own_code(row.id).is_none()));
    }

    #[test]
    fn waits_belong_to_the_caller_of_the_kernel_and_cpu_time_to_what_ran() {
        let tree = crate::shown::tree(&testing::in_kernel(), &Filter::default()).unwrap();
        let rows = functions(&tree);
        let own = |name: &str| rows.iter().find(|row| row.name == name).map_or(0, |row| row.own);
        assert_eq!(own("libc.so.6!read"), 3);
        assert_eq!(own("[overlay]!ovl_read_iter"), 0);
        assert_eq!(own("[kernel]!copy_page"), 7);
    }

    #[test]
    fn what_is_allocated_is_the_own_of_who_called_the_allocator() {
        let recording = testing::allocated();
        let filter = Filter { metric: Metric::AllocBytes, ..Filter::default() };
        let tree = crate::shown::tree(&recording, &filter).unwrap();
        let rows = functions(&tree);
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!((row("app!parse").own, row("[size]!24").own), (48, 0));
        assert_eq!((row("[size]!24").total, row("libculprit-alloc.so!malloc").own), (48, 0));
        // The caller was lost.
        assert_eq!(row("[size]!33-64").own, 50);
        assert_eq!(rows.iter().map(|row| row.own).sum::<u64>(), tree.total());
    }

    #[test]
    fn brackets_are_the_kernel_s_but_for_what_it_lends_to_users() {
        assert!(is_kernel("[kernel]!schedule") && is_kernel("[overlay]!ovl_open"));
        assert!(
            !is_kernel("[vdso]!clock_gettime")
                && !is_kernel("[jit]!loop")
                && !is_kernel("[asyncio]!awaits")
                && !is_kernel("a!b")
        );
        assert!(!is_kernel("[stack lost]"));
    }
}
