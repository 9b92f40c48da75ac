//! Whose rows are under one node, and what stands above it.

use culprit_model::{Recording, Root, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::activities::Owners;
use crate::calls::activity::{ACTIVITIES, ActivityPaths, NO_ACTIVITY};
use crate::calls::index::NONE;
use crate::calls::trie::RawNames;

/// Whose rows are under one node: a thread, several that have one name and number in processes of
/// one name and number, or nobody.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    /// Names of the process and of the thread.
    pub(super) process: u32,
    pub(super) thread: u32,
    /// The first such thread.
    pub(super) id: ThreadId,
    /// The activity that it works on, by name, where views tell these apart; else [`NONE`].
    pub(super) path: u32,
}

/// Which activity's path a thread works on at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Works<'r> {
    pub(super) owners: Owners<'r>,
    pub(super) paths: &'r ActivityPaths,
}

impl Works<'_> {
    /// True when there are any activities.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.paths.any()
    }

    #[inline]
    pub(super) fn at(self, thread: Option<ThreadId>, time: Time) -> u32 {
        let activity = thread.and_then(|thread| self.owners.at(thread, time));
        activity.map_or(NONE, |id| self.paths.path_of(id))
    }
}

/// The threads of a recording, each process's one after the other, below activities where views
/// tell these apart; last what has no thread.
pub(super) struct Groups<'r> {
    pub(super) list: Vec<Option<Whose>>,
    /// Of each thread when it works on no activity.
    pub(super) of_thread: Vec<u32>,
    /// Of each thread and activity; empty where views do not tell them apart.
    pub(super) of_work: FxHashMap<(ThreadId, u32), u32>,
    pub(super) works: Works<'r>,
}

impl<'r> Groups<'r> {
    pub(super) fn of(
        recording: &Recording,
        root: Root,
        works: Works<'r>,
        names: &mut RawNames,
    ) -> Self {
        let mut known: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
        let mut list: Vec<Option<Whose>> = Vec::new();
        let mut group = |whose: Whose| {
            let Whose { process, thread, path, .. } = whose;
            *known.entry((process, thread, path)).or_insert_with(|| {
                list.push(Some(whose));
                u32::try_from(list.len() - 1).unwrap_or(NONE)
            })
        };
        let mut threads = Vec::with_capacity(recording.threads.len());
        for (at, thread) in recording.threads.iter().enumerate() {
            let id = ThreadId::from_index(at);
            let process = format!("Process {}", recording.process_name(thread.process));
            let process = names.text(&process, true);
            let thread = names.text(&format!("Thread {}", recording.thread_name(id)), true);
            threads.push(Whose { process, thread, id, path: NONE });
        }
        let mut of_thread: Vec<u32> = threads.iter().map(|whose| group(*whose)).collect();
        let mut of_work: FxHashMap<(ThreadId, u32), u32> = FxHashMap::default();
        if root == Root::Activities {
            for work in &recording.activity_work {
                let path = works.paths.path_of(work.activity);
                if let Some(whose) = threads.get(work.thread.index()) {
                    let path_of_group = works.paths.outermost_of_name(path);
                    let own = group(Whose { path: path_of_group, ..*whose });
                    of_work.insert((work.thread, path), own);
                }
            }
        }
        // Preorder: processes as they first come, below them activities, below those threads.
        let places = works.paths.places();
        let place = |path: u32| places.get(path as usize).copied().unwrap_or(NONE);
        let mut order: Vec<u32> = (0..).take(list.len()).collect();
        order.sort_by_key(|at| {
            list[*at as usize].map(|whose| (whose.process, place(whose.path), whose.id))
        });
        let mut moved = vec![0; list.len()];
        for (new, old) in (0_u32..).zip(&order) {
            moved[*old as usize] = new;
        }
        of_thread.iter_mut().for_each(|group| *group = moved[*group as usize]);
        let of_work = of_work.into_iter().map(|(key, group)| (key, moved[group as usize]));
        let of_work = of_work.collect();
        let mut list: Vec<_> = order.into_iter().map(|old| list[old as usize]).collect();
        list.push(None);
        Self { list, of_thread, of_work, works }
    }

    /// True when a thread's rows may be of several groups.
    pub(super) fn by_time(&self) -> bool {
        !self.of_work.is_empty()
    }

    /// The group of a row.
    pub(super) fn group(&self, thread: Option<ThreadId>, time: Time) -> u32 {
        let none = u32::try_from(self.list.len() - 1).unwrap_or(NONE);
        let Some(thread) = thread else { return none };
        if self.by_time() {
            let path = self.works.at(Some(thread), time);
            if let Some(group) = self.of_work.get(&(thread, path)) {
                return *group;
            }
        }
        self.of_thread.get(thread.index()).copied().unwrap_or(none)
    }
}

/// The frames between processes and threads.
pub(super) struct Tops<'r> {
    pub(super) root: Root,
    pub(super) paths: &'r ActivityPaths,
    /// The names above what is done for activities, and for none.
    pub(super) some: u32,
    pub(super) none: u32,
    /// The name of each path.
    pub(super) names: Vec<u32>,
}

impl<'r> Tops<'r> {
    pub(super) fn of(root: Root, paths: &'r ActivityPaths, names: &mut RawNames) -> Self {
        if root == Root::Threads {
            return Self { root, paths, some: NONE, none: NONE, names: Vec::new() };
        }
        let (some, none) = (names.text(ACTIVITIES, false), names.text(NO_ACTIVITY, false));
        let frames = (0..).map_while(|path| paths.frame(path));
        let names = frames.map(|(_, frame)| names.text(&frame, false)).collect();
        Self { root, paths, some, none, names }
    }
}
