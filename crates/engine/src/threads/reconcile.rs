//! Waits whose end nobody saw, ended as the kernel's own account of the thread has it.
//!
//! Interrupts that end a CPU's idle time are not traced on every machine, nor is the switch that
//! follows. Such a wakeup is known by its bounds only: not before the thread slept, not after it
//! came to its CPU. The recorder tells the latest possible, so what the thread spent on a run queue
//! between the two is missing; and when it came is known by the switch record less a usual delay.
//! What the kernel counted over the thread's whole life (`schedstat`) tells both sums:
//!
//! ```text
//! truth     | ran | blocked        | ready | ran     kernel's account: ready 5 ms more,
//! told      | ran | blocked                |ran      on a CPU 0.2 ms less
//! result    | ran | blocked        | ready | ran
//! ```
//!
//! Missing time on run queues goes to those unseen waits that took longer than waits at the same
//! place usually do, the longest first, and to none by more than it was longer. Time on a CPU that
//! is too long or too short is spread over all unseen arrivals alike. Both only as far as the
//! account asks for and the neighbours leave room, so that rows still tile the thread's life.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, Recording, StackId, ThreadId, Time, WakeSource};

use crate::accounting::{Sum, ThreadSums, accounting};

/// No arrival is moved by more: the delays between an idle CPU's interrupt and the switch record
/// that were seen are 7 to 80 us, of which the recorder has taken off its own estimate.
const MOST_SHIFT_NS: u64 = 50_000;
/// A usual length takes so many waits at the same place.
const LEAST_ALIKE: usize = 3;

/// Ends unseen waits by the kernel's account, and then calls them what the table calls them.
pub(super) fn reconcile(recording: &mut Recording) {
    if recording.intervals.iter().any(is_unseen) {
        let sums = accounting(recording).threads;
        let mut rows = std::mem::take(&mut recording.intervals);
        let mut settled = Vec::with_capacity(rows.len());
        let mut from = 0;
        while let Some(first) = rows.get(from) {
            let thread = first.thread;
            let to = from + rows[from..].partition_point(|row| row.thread <= thread);
            let own = sums.iter().find(|sums| sums.thread == thread);
            match own.filter(|own| own.cpu.is_some()) {
                Some(own) => {
                    shift_arrivals(&mut rows[from..to], own, span(recording, thread));
                    let missing = missing_in_queues(own);
                    let given = share_out(&rows[from..to], missing, span(recording, thread));
                    write(&rows[from..to], &given, &mut settled);
                }
                None => settled.extend_from_slice(&rows[from..to]),
            }
            from = to;
        }
        recording.intervals = settled;
    }
    for row in &mut recording.intervals {
        row.woken_by = row.woken_by.map(|source| ended_by(row.cause, source));
    }
}

fn is_unseen(row: &Interval) -> bool {
    row.woken_by == Some(WakeSource::Unseen)
}

/// What ended a wait: a sleep that an interrupt ended was ended by its timer, also where the
/// interrupt's own stack could not be recorded.
fn ended_by(cause: Cause, source: WakeSource) -> WakeSource {
    match (cause, source) {
        (Cause::Sleep, WakeSource::Interrupt | WakeSource::Unseen) => WakeSource::Timer,
        (_, WakeSource::Unseen) => WakeSource::Interrupt,
        _ => source,
    }
}

/// Between which times the kernel's sums were taken.
fn span(recording: &Recording, thread: ThreadId) -> (Time, Time) {
    let thread = recording.thread(thread);
    (thread.sched_from.unwrap_or(Time::START), thread.sched_to.unwrap_or(Time::START))
}

fn end(row: &Interval) -> Time {
    row.start + row.duration
}

/// The positions of the unseen waits that ended within the span and that the thread's run follows.
fn unseen_in<'a>(
    rows: &'a [Interval],
    (from, to): (Time, Time),
) -> impl Iterator<Item = usize> + 'a {
    let follows = |at: usize| rows.get(at + 1).is_some_and(|next| next.cause.is_cpu());
    let within = move |row: &Interval| (from..=to).contains(&end(row));
    (0..rows.len()).filter(move |at| is_unseen(&rows[*at]) && within(&rows[*at]) && follows(*at))
}

/// Moves all unseen arrivals by the same time, so that the time on a CPU comes near the kernel's.
fn shift_arrivals(rows: &mut [Interval], sums: &ThreadSums, span: (Time, Time)) {
    let unseen: Vec<usize> = unseen_in(rows, span).collect();
    let difference = sums.cpu.map_or(0, |cpu| cpu.difference_ns());
    let Ok(count) = i64::try_from(unseen.len()) else { return };
    if count == 0 {
        return;
    }
    let each = difference.unsigned_abs() / count.unsigned_abs();
    let each = each.min(MOST_SHIFT_NS);
    for at in unseen {
        // Half of a neighbour at most: each may be asked for room from both of its ends.
        let giver = if difference > 0 { at + 1 } else { at };
        let shift = Nanos(each.min(rows[giver].duration.0 / 2));
        let start = rows[at + 1].start;
        if difference > 0 {
            rows[at].duration += shift;
            rows[at + 1].duration = Nanos(rows[at + 1].duration.0 - shift.0);
            rows[at + 1].start = start + shift;
        } else {
            rows[at].duration = Nanos(rows[at].duration.0 - shift.0);
            rows[at + 1].duration += shift;
            rows[at + 1].start = Time(start.0 - shift.0);
        }
    }
}

fn missing_in_queues(sums: &ThreadSums) -> Nanos {
    let short = |sum: Sum| sum.theirs.saturating_sub(sum.ours);
    sums.run_queue.map_or(Nanos::ZERO, short)
}

/// How much of each unseen wait, by its position, was spent ready.
fn share_out(rows: &[Interval], mut missing: Nanos, span: (Time, Time)) -> BTreeMap<usize, Nanos> {
    let mut alike: BTreeMap<Option<StackId>, Vec<usize>> = BTreeMap::new();
    for at in unseen_in(rows, span) {
        alike.entry(rows[at].stack).or_default().push(at);
    }
    let mut longer: Vec<(Nanos, usize)> = Vec::new();
    for waits in alike.values_mut().filter(|waits| waits.len() >= LEAST_ALIKE) {
        waits.sort_by_key(|at| rows[*at].duration);
        let usual = rows[waits[waits.len() / 2]].duration;
        longer.extend(waits.iter().map(|at| (rows[*at].duration.saturating_sub(usual), *at)));
    }
    longer.sort_unstable_by(|one, other| other.cmp(one));
    let mut given = BTreeMap::new();
    for (excess, at) in longer {
        let part = excess.min(missing);
        if part.0 == 0 {
            break;
        }
        given.insert(at, part);
        missing = missing.saturating_sub(part);
    }
    given
}

/// The rows, each wait that is given some ready time cut in two.
fn write(rows: &[Interval], given: &BTreeMap<usize, Nanos>, out: &mut Vec<Interval>) {
    for (at, row) in rows.iter().enumerate() {
        let Some(ready) = given.get(&at).copied() else {
            out.push(row.clone());
            continue;
        };
        let blocked = Nanos(row.duration.0 - ready.0);
        let queued = Interval {
            start: row.start + blocked,
            duration: ready,
            cause: Cause::Runnable,
            waker: None,
            waker_stack: None,
            woken_by: None,
            ..row.clone()
        };
        out.push(Interval { duration: blocked, ..row.clone() });
        out.push(queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse;

    /// A program that waits for a disk four times, the third time longer; all ends unseen.
    fn waits(ready_ns: u64, cpu_ns: u64) -> Recording {
        let drawing = "stack d blocked.disk main;[kernel]!io_schedule
             app(1)/main(1) UUddUUddUUddddddUUddUU";
        let mut recording = parse(drawing).expect("parses");
        for row in recording.intervals.iter_mut().filter(|row| row.cause == Cause::Disk) {
            row.woken_by = Some(WakeSource::Unseen);
        }
        let thread = &mut recording.threads[0];
        (thread.sched_from, thread.sched_to) = (Some(Time(0)), Some(Time(22_000_000)));
        (thread.sched_cpu, thread.sched_wait) = (Some(Nanos(cpu_ns)), Some(Nanos(ready_ns)));
        recording
    }

    fn told(recording: &Recording) -> Vec<(Cause, u64)> {
        recording.intervals.iter().map(|row| (row.cause, row.duration.0 / 1000)).collect()
    }

    fn tiles(recording: &Recording) -> bool {
        recording.intervals.windows(2).all(|pair| end(&pair[0]) == pair[1].start)
    }

    #[test]
    fn missing_time_on_run_queues_was_in_the_wait_that_took_longer_than_its_like() {
        let mut recording = waits(3_000_000, 10_000_000);
        reconcile(&mut recording);
        let rows = told(&recording);
        assert_eq!(rows[5], (Cause::Disk, 3_000), "{rows:?}");
        assert_eq!(rows[6], (Cause::Runnable, 3_000));
        assert!(tiles(&recording));
        let sums = accounting(&recording);
        assert_eq!((sums.run_queue.difference_ns(), sums.cpu.difference_ns()), (0, 0));
        assert!(recording.intervals.iter().all(|row| row.woken_by != Some(WakeSource::Unseen)));
    }

    #[test]
    fn no_wait_is_given_more_than_it_is_longer() {
        let mut recording = waits(9_000_000, 10_000_000);
        reconcile(&mut recording);
        assert_eq!(accounting(&recording).run_queue.ours, Nanos(4_000_000));
        let mut fine = waits(0, 10_000_000);
        let before = told(&fine);
        reconcile(&mut fine);
        assert_eq!(told(&fine), before);
    }

    #[test]
    fn arrivals_are_shifted_alike_and_no_farther_than_delays_that_were_seen() {
        let mut less = waits(0, 9_960_000);
        reconcile(&mut less);
        assert_eq!(accounting(&less).cpu.difference_ns(), 0);
        assert!(tiles(&less));
        let mut more = waits(0, 10_040_000);
        reconcile(&mut more);
        assert_eq!((accounting(&more).cpu.difference_ns(), tiles(&more)), (0, true));
        let mut far = waits(0, 5_000_000);
        reconcile(&mut far);
        assert_eq!(accounting(&far).cpu.ours, Nanos(10_000_000 - 4 * MOST_SHIFT_NS));
    }

    #[test]
    fn without_the_kernels_account_all_stays_as_it_was_told() {
        let mut recording = waits(3_000_000, 10_000_000);
        recording.threads[0].sched_cpu = None;
        let before = told(&recording);
        reconcile(&mut recording);
        assert_eq!(told(&recording), before);
    }
}
