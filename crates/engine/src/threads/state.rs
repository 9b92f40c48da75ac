//! What a thread is doing between two context switches: an enum and a pure step.
//!
//! Every event closes at most one stretch of each kind. Switches of a complete recording alternate;
//! where one was lost, the step closes the stretch that the events still prove and marks it as a
//! guess:
//!
//! ```text
//! events    in      out        in   out         out          in    in
//! stretch    | ran   |  away    | ran |  away?   | away       | ran?|
//!                                          ^ an "in" is lost        ^ an "out" is lost
//! ```

use culprit_model::{StackId, Time};

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing was seen of it since then. `created` when it was born then.
    Unseen { since: Time, created: bool, seen: Option<Time> },
    /// On this CPU since then.
    Running { since: Time, cpu: u32 },
    /// Off the CPU.
    Off { since: Time, left: Left, seen: Option<Time> },
}

/// How a thread left the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    /// The CPU that it left.
    pub(super) cpu: u32,
    /// Where it was.
    pub(super) stack: Option<StackId>,
    /// True when it could have gone on.
    pub(super) ready: bool,
    /// The kernel's state letter, where known.
    pub(super) letter: Option<char>,
}

/// What happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// It got onto a CPU.
    In { time: Time, cpu: u32 },
    /// It left its CPU.
    Out { time: Time, left: Left },
    /// A clock sample saw it on a CPU.
    Seen { time: Time },
    /// Its row ends.
    End { time: Time },
}

/// How a stretch off the CPU began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was switched out.
    Left(Left),
    /// It was just created and had not run.
    Created,
    /// It began before the recording.
    Unseen,
}

/// A stretch off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Away {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) origin: Origin,
    /// True when its end is a switch in, so that something made the thread ready.
    pub(super) resumed: bool,
    /// True when a switch is missing.
    pub(super) guessed: bool,
}

/// A stretch on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) cpu: Option<u32>,
    /// How it ended; none when it did not end by a switch out.
    pub(super) left: Option<Left>,
    /// True when a switch is missing.
    pub(super) guessed: bool,
}

/// The stretches that an event closed, in order of time: first off the CPU, then on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Closed {
    pub(super) away: Option<Away>,
    pub(super) ran: Option<Ran>,
}

/// What follows from one event.
pub(super) fn step(state: State, event: Event) -> (State, Closed) {
    match event {
        Event::In { time, cpu } => (State::Running { since: time, cpu }, close_at_in(state, time)),
        Event::Out { time, left } => {
            let off = State::Off { since: time, left, seen: None };
            (off, close_at_out(state, time, left))
        }
        Event::Seen { time } => (remember(state, time), Closed::default()),
        Event::End { time } => (state, close_at_end(state, time)),
    }
}

fn remember(state: State, time: Time) -> State {
    match state {
        State::Unseen { since, created, seen } => {
            State::Unseen { since, created, seen: seen.or(Some(time)) }
        }
        State::Off { since, left, seen } => State::Off { since, left, seen: seen.or(Some(time)) },
        State::Running { .. } => state,
    }
}

fn close_at_in(state: State, to: Time) -> Closed {
    let away = |from, origin| Closed {
        away: Some(Away { from, to, origin, resumed: true, guessed: false }),
        ran: None,
    };
    match state {
        State::Unseen { since, created, .. } => away(since, unseen(created)),
        State::Off { since, left, .. } => away(since, Origin::Left(left)),
        State::Running { since, cpu } => Closed {
            away: None,
            ran: Some(Ran { from: since, to, cpu: Some(cpu), left: None, guessed: true }),
        },
    }
}

fn close_at_out(state: State, to: Time, left: Left) -> Closed {
    let ran = |from, cpu, guessed| Ran { from, to, cpu, left: Some(left), guessed };
    match state {
        // The recorder was attached while the thread ran: no switch in is missing.
        State::Unseen { since, .. } => {
            Closed { away: None, ran: Some(ran(since, Some(left.cpu), false)) }
        }
        State::Running { since, cpu } => {
            Closed { away: None, ran: Some(ran(since, Some(cpu), false)) }
        }
        State::Off { since, left: before, seen } => {
            let back = seen.unwrap_or(to);
            let origin = Origin::Left(before);
            Closed {
                away: Some(Away { from: since, to: back, origin, resumed: true, guessed: true }),
                ran: seen.map(|from| ran(from, Some(left.cpu), true)),
            }
        }
    }
}

fn close_at_end(state: State, to: Time) -> Closed {
    match state {
        State::Running { since, cpu } => Closed {
            away: None,
            ran: Some(Ran { from: since, to, cpu: Some(cpu), left: None, guessed: false }),
        },
        State::Unseen { since, seen: Some(_), .. } => Closed {
            away: None,
            ran: Some(Ran { from: since, to, cpu: None, left: None, guessed: false }),
        },
        State::Unseen { since, created, seen: None } => Closed {
            away: Some(Away {
                from: since,
                to,
                origin: unseen(created),
                resumed: false,
                guessed: false,
            }),
            ran: None,
        },
        State::Off { since, left, seen } => {
            let back = seen.unwrap_or(to);
            Closed {
                away: Some(Away {
                    from: since,
                    to: back,
                    origin: Origin::Left(left),
                    resumed: seen.is_some(),
                    guessed: seen.is_some(),
                }),
                ran: seen.map(|from| Ran { from, to, cpu: None, left: None, guessed: true }),
            }
        }
    }
}

fn unseen(created: bool) -> Origin {
    if created { Origin::Created } else { Origin::Unseen }
}
