//! What a stretch of time is used for, in words that stay true whatever the program is.

use culprit_model::{Cause, Nanos};

use super::Spot;

/// Share from which on one use, or one function of it, speaks for the whole.
const MAIN_FROM: f64 = 0.5;

/// Share below which a second use is not named.
const NAMED_FROM: f64 = 0.1;

/// What time is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeUse {
    /// On a CPU.
    Compute,
    /// Ready, without a CPU.
    CpuWait,
    /// Held back by a CPU quota.
    Quota,
    /// A disk's work, also for page faults.
    Disk,
    /// Data on its way to stable storage.
    Flush,
    /// A network peer.
    Network,
    /// Locks and other threads.
    Threads,
    /// A pipe's other end.
    Pipe,
    /// Another process.
    Process,
    /// A child process.
    Child,
    /// Events that poll, select and epoll wait for, and changes of files.
    Events,
    /// Memory.
    Memory,
    /// Signals, or a stop by one.
    Signal,
    /// Asleep by its own timer.
    Sleep,
    /// A wait of an unknown kind.
    Unknown,
    /// Nothing was recorded.
    Nothing,
}

impl TimeUse {
    /// The use of time that passes for a cause; none while nothing was recorded.
    #[must_use]
    pub const fn new(cause: Option<Cause>) -> Self {
        let Some(cause) = cause else { return Self::Nothing };
        match cause {
            Cause::CpuUser | Cause::CpuKernel => Self::Compute,
            Cause::Runnable => Self::CpuWait,
            Cause::RunnableQuota => Self::Quota,
            Cause::Disk | Cause::Fault => Self::Disk,
            Cause::Fsync => Self::Flush,
            Cause::Net => Self::Network,
            Cause::Lock | Cause::Thread => Self::Threads,
            Cause::Sleep => Self::Sleep,
            Cause::Poll | Cause::Notify => Self::Events,
            Cause::Pipe => Self::Pipe,
            Cause::Ipc => Self::Process,
            Cause::Child => Self::Child,
            Cause::Memory => Self::Memory,
            Cause::Signal | Cause::Stopped => Self::Signal,
            Cause::Other => Self::Unknown,
        }
    }

    /// True for time in which nothing is done.
    #[must_use]
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Sleep | Self::Nothing)
    }

    /// Which use a change of phase is looked for in: whether a CPU was free is the machine's doing, and
    /// no change of what the program does.
    pub(super) const fn of_the_program(self) -> Self {
        match self {
            Self::CpuWait => Self::Compute,
            other => other,
        }
    }

    /// What the program does, as a verb.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Compute => "computes",
            Self::CpuWait => "waits for a CPU",
            Self::Quota => "waits for its CPU quota",
            Self::Disk => "waits for the disk",
            Self::Flush => "waits for a flush to disk",
            Self::Network => "waits for the network",
            Self::Threads => "waits for other threads",
            Self::Pipe => "waits for a pipe",
            Self::Process => "waits for another process",
            Self::Child => "waits for a child process",
            Self::Events => "waits for events",
            Self::Memory => "waits for memory",
            Self::Signal => "waits for a signal",
            Self::Sleep => "sleeps",
            Self::Unknown => "waits",
            Self::Nothing => "does nothing that was recorded",
        }
    }
}

/// What is done in some time: the main use and its main function, or the two largest uses.
pub(super) fn describe(sums: &[(Spot, Nanos)]) -> String {
    let whole: Nanos = sums.iter().map(|(_, time)| *time).sum();
    let mut uses: Vec<(TimeUse, Nanos)> = Vec::new();
    for (spot, time) in sums {
        match uses.iter_mut().find(|(known, _)| *known == spot.time_use) {
            Some((_, sum)) => *sum += *time,
            None => uses.push((spot.time_use, *time)),
        }
    }
    uses.sort_by_key(|(time_use, time)| (std::cmp::Reverse(*time), *time_use));
    let Some((main, time)) = uses.first().copied() else {
        return TimeUse::Nothing.verb().to_owned();
    };
    if time.share_of(whole) >= MAIN_FROM {
        return in_function(main, time, sums);
    }
    let named = uses.iter().take(2).filter(|(_, time)| time.share_of(whole) >= NAMED_FROM);
    let named: Vec<String> = named
        .map(|(time_use, time)| format!("{} {}", time_use.verb(), percent(time.share_of(whole))))
        .collect();
    named.join(", ")
}

/// A use with the function that has the most of it.
fn in_function(time_use: TimeUse, time: Nanos, sums: &[(Spot, Nanos)]) -> String {
    let own = sums.iter().filter(|(spot, _)| spot.time_use == time_use);
    let most = own.filter(|(spot, _)| !spot.function.is_empty()).max_by_key(|(_, time)| *time);
    let verb = time_use.verb();
    match most {
        Some((spot, most)) if most.share_of(time) >= MAIN_FROM => {
            format!("{verb} in {}", spot.function)
        }
        Some((spot, most)) if most.share_of(time) >= NAMED_FROM => {
            format!("{verb}, {} of it in {}", percent(most.share_of(time)), spot.function)
        }
        _ => verb.to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(sums: &[(TimeUse, &str, u64)]) -> String {
        let spot = |time_use, function: &str| Spot { time_use, function: function.to_owned() };
        let sums: Vec<_> = sums.iter().map(|(u, f, t)| (spot(*u, f), Nanos(*t))).collect();
        describe(&sums)
    }

    #[test]
    fn the_main_use_is_named_with_its_function() {
        let all = [(TimeUse::Compute, "app!f", 60), (TimeUse::Disk, "app!g", 40)];
        assert_eq!(described(&all), "computes in app!f");
        let many = [
            (TimeUse::Compute, "app!f", 20),
            (TimeUse::Compute, "app!g", 35),
            (TimeUse::Compute, "app!h", 45),
        ];
        assert_eq!(described(&many), "computes, 45 % of it in app!h");
        assert_eq!(described(&[(TimeUse::Sleep, "", 9)]), "sleeps");
    }

    #[test]
    fn without_a_main_use_the_two_largest_are_named() {
        let all = [
            (TimeUse::Compute, "app!f", 40),
            (TimeUse::Disk, "app!g", 35),
            (TimeUse::Network, "app!h", 25),
        ];
        assert_eq!(described(&all), "computes 40 %, waits for the disk 35 %");
        assert_eq!(described(&[]), "does nothing that was recorded");
    }
}
