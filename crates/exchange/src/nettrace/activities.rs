//! Activities: what an event of a provider starts and another of the same task stops.
//!
//! A start and its stop share the activity's id, on whichever threads they are. Events without ids,
//! which a program has when nothing asked it to track activities, are paired on their thread.

use std::collections::BTreeMap;

use culprit_model::{EdgeKind, LossKind, Text, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::{Cursor, Wrong};
use super::events::{Event, Guid};
use super::guid;
use super::types::Type;
use crate::builder::{Builder, Edge};
use crate::nested::Spans;

/// What pairs the ends of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum By {
    /// The activity's id; the thread where there is none.
    Id,
    /// The first number of the payload.
    Number,
    /// Nothing: a process has one at a time.
    Process,
}

/// Which end of which activity a type of event is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Role {
    provider: Text,
    task: Text,
    starts: bool,
    by: By,
    /// The trace says so; else its name does, as .NET's own rule for names has it.
    told: bool,
}

/// What the .NET runtime calls its own events, which have numbers alone (dotnet/runtime
/// `ClrEtwAll.man`): start, stop and task. A collection is told from others by its number; its
/// threads are the runtime's affair. The world stands still from the first word of suspending it
/// until it runs again.
const RUNTIME: &[(u32, u32, &str, By)] = &[
    (1, 2, "GC", By::Number),
    (9, 3, "GCSuspendEE", By::Process),
    (73, 74, "TypeLoad", By::Id),
    (250, 251, "ExceptionCatch", By::Id),
    (252, 253, "ExceptionFinally", By::Id),
    (254, 255, "ExceptionFilter", By::Id),
    (283, 284, "TieredCompilationBackgroundJit", By::Id),
    (290, 291, "AssemblyLoader", By::Id),
];

const START: u8 = 1;
const STOP: u8 = 2;

/// One end as the trace holds it.
#[derive(Debug)]
struct End {
    process: u32,
    thread: u32,
    time: u64,
    /// Its position among the roles.
    role: usize,
    /// None where the thread is all that there is.
    key: Option<Text>,
}

/// The ends that were read.
#[derive(Debug, Default)]
pub(super) struct Activities {
    roles: Vec<Role>,
    places: FxHashMap<Role, usize>,
    /// By the number of the type; each with the opcode.
    known: FxHashMap<u32, Vec<(u8, Option<usize>)>>,
    /// The tasks that events start, by provider and the event's id.
    started: FxHashMap<(Text, u32), Text>,
    ids: FxHashMap<Guid, Text>,
    ends: Vec<End>,
}

impl Activities {
    /// A type is described anew under a number.
    pub(super) fn described(&mut self, number: u32, of: &Type) {
        self.known.remove(&number);
        if let Some(role) = role(of, of.opcode, &self.started).filter(|role| role.starts) {
            self.started.insert((role.provider, of.id), role.task);
        }
    }

    /// Takes an event if it is one end of an activity; false if it is none.
    pub(super) fn take(
        &mut self,
        event: &Event<'_>,
        (of, opcode, activity): (&Type, Option<u8>, Guid),
        (process, thread, time): (u32, u32, u64),
    ) -> Result<bool, Wrong> {
        let opcode = opcode.filter(|opcode| *opcode != 0).unwrap_or(of.opcode);
        let Some(role) = self.role(event.kind, of, opcode) else { return Ok(false) };
        let key = match self.roles[role].by {
            By::Number => Some(Text::from(Cursor::new(event.payload).u32()?.to_string())),
            By::Process => Some(Text::default()),
            By::Id if activity == Guid::default() => None,
            By::Id => {
                let id = self.ids.entry(activity);
                Some(id.or_insert_with(|| Text::from(guid::text(&activity))).clone())
            }
        };
        self.ends.push(End { process, thread, time, role, key });
        Ok(true)
    }

    /// At most one for each of the 256 opcodes is looked through.
    fn role(&mut self, number: u32, of: &Type, opcode: u8) -> Option<usize> {
        let known = self.known.entry(number).or_default();
        if let Some((_, role)) = known.iter().find(|known| known.0 == opcode) {
            return *role;
        }
        let role = role(of, opcode, &self.started).map(|role| {
            *self.places.entry(role).or_insert_with_key(|role| {
                self.roles.push(role.clone());
                self.roles.len() - 1
            })
        });
        known.push((opcode, role));
        role
    }

    /// The processes and threads that they are on.
    pub(super) fn threads(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ends.iter().map(|end| (end.process, end.thread))
    }

    /// Hands them on. Events that are an end by their name alone are none where nothing is the
    /// other end.
    pub(super) fn finish(
        mut self,
        builder: &mut Builder,
        thread: impl Fn(&mut Builder, u32, u32) -> ThreadId,
    ) {
        let mut sides: FxHashSet<(&Text, &Text, bool)> = FxHashSet::default();
        sides.extend(self.ends.iter().map(|end| {
            let role = &self.roles[end.role];
            (&role.provider, &role.task, role.starts)
        }));
        let paired =
            |role: &Role| role.told || sides.contains(&(&role.provider, &role.task, !role.starts));
        let names: Vec<Option<Text>> = (self.roles.iter())
            .map(|role| paired(role).then(|| format!("{}/{}", role.provider, role.task).into()))
            .collect();
        self.ends.sort_by_key(|end| end.time);
        let (mut by_thread, mut alone) = (ByThread::default(), vec![0; names.len()]);
        for end in &self.ends {
            let starts = self.roles[end.role].starts;
            let Some(name) = &names[end.role] else {
                alone[end.role] += 1;
                continue;
            };
            let thread = thread(builder, end.process, end.thread);
            match &end.key {
                None => by_thread.take(thread, end.time, name, starts),
                Some(key) => {
                    let kind = if starts { EdgeKind::Start } else { EdgeKind::Stop };
                    let key = (!key.is_empty()).then(|| key.clone());
                    builder.edge(Edge { time: end.time, thread, kind, name, key });
                }
            }
        }
        for (role, count) in self.roles.iter().zip(alone).filter(|(_, count)| *count > 0) {
            let end = if role.starts { "Start" } else { "Stop" };
            let what = format!("{} {}{end}", role.provider, role.task);
            builder.lose(LossKind::DetailLeftOut, count, &what);
        }
        by_thread.finish(builder);
    }
}

/// Ends that have nothing but their thread, in the order of time.
#[derive(Debug, Default)]
struct ByThread {
    /// Since when activities of a thread and a name are open, the innermost last.
    open: BTreeMap<(ThreadId, Text), Vec<u64>>,
    spans: Spans,
    pairs: u64,
    unpaired: u64,
}

impl ByThread {
    fn take(&mut self, thread: ThreadId, time: u64, name: &Text, starts: bool) {
        let open = self.open.entry((thread, name.clone())).or_default();
        if starts {
            open.push(time);
        } else if let Some(start) = open.pop() {
            self.pairs += 1;
            self.spans.add(thread, (start, time), name.clone());
        } else {
            self.unpaired += 1;
        }
    }

    fn finish(self, builder: &mut Builder) {
        let Self { open, spans, pairs, mut unpaired } = self;
        unpaired += open.values().map(|starts| starts.len() as u64).sum::<u64>();
        spans.finish(builder);
        for (count, what) in [
            (
                pairs,
                "activities without an id, paired by their thread, which is wrong if they change \
                 threads; record ids with the keyword 0x80 of \
                 System.Threading.Tasks.TplEventSource",
            ),
            (
                unpaired,
                "starts and stops without an id and without a matching event on their thread",
            ),
        ] {
            if count > 0 {
                builder.lose(LossKind::ActivitiesUnpaired, count, what);
            }
        }
    }
}

/// Which end a type is: as its opcode says or, where that is not told, its name. The task is the
/// name without that word. A stop with a name of its own has the number behind its start's, as
/// .NET's `EventSource` demands it.
fn role(of: &Type, opcode: u8, started: &FxHashMap<(Text, u32), Text>) -> Option<Role> {
    let provider = Text::from(of.provider.as_str());
    if of.provider == "Microsoft-Windows-DotNETRuntime" {
        return RUNTIME.iter().find(|row| row.0 == of.id || row.1 == of.id).map(|row| {
            let (starts, task, by) = (row.0 == of.id, Text::from(row.2), row.3);
            Role { provider, task, starts, by, told: true }
        });
    }
    let without = |word: &str| of.name.strip_suffix(word).filter(|rest| !rest.is_empty());
    let (starts, task, told) = match opcode {
        START => (true, without("Start"), true),
        STOP => (false, without("Stop"), true),
        0 => match (without("Start"), without("Stop")) {
            (None, None) => return None,
            (start, stop) => (start.is_some(), start.or(stop), false),
        },
        _ => return None,
    };
    let of_number = || {
        let before = of.id.checked_sub(1).filter(|_| !starts)?;
        started.get(&(provider.clone(), before)).cloned()
    };
    let task = match task {
        Some(task) => Text::from(task),
        None => of_number().unwrap_or_else(|| match of.name.as_str() {
            "" => Text::from(format!("event {}", of.id)),
            name => Text::from(name),
        }),
    };
    Some(Role { provider, task, starts, by: By::Id, told })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types as `id name opcode` of one provider; roles as `+task` and `-task`, in question `?`.
    fn check(types: &str, expected: &str) {
        let mut activities = Activities::default();
        let mut shown = Vec::new();
        for (number, text) in (0..).zip(types.split(", ")) {
            let words: Vec<&str> = text.split(' ').collect();
            let of = Type {
                provider: "P".to_owned(),
                id: words[0].parse().unwrap(),
                name: words[1].to_owned(),
                opcode: words[2].parse().unwrap(),
                fields: Vec::new(),
            };
            activities.described(number, &of);
            let role = activities.role(number, &of, of.opcode);
            shown.push(role.map_or("no".to_owned(), |at| {
                let Role { task, starts, told, .. } = &activities.roles[at];
                let (sign, doubt) = (if *starts { "+" } else { "-" }, if *told { "" } else { "?" });
                format!("{sign}{task}{doubt}")
            }));
        }
        assert_eq!(shown.join(" "), expected, "{types}");
    }

    #[test]
    fn tasks_are_told_by_opcodes_names_and_numbers() {
        check("1 RequestStart 1, 2 RequestStop 2", "+Request -Request");
        check("1 RequestStart 0, 2 RequestStop 0, 3 Request 0", "+Request? -Request? no");
        check("5 Begin 1, 6 Finish 2, 8 Over 2", "+Begin -Begin -Over");
        check("0 Work 1, 0 Work 2, 0 Work 10", "+Work -Work no");
        check("1 Restart 0, 2 Start 0, 3 Start 1", "no no +Start");
    }
}
