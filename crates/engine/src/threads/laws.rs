//! Laws that every built timeline keeps, on random and on damaged recordings.

use culprit_model::notation::parse;
use culprit_model::{
    Nanos, Observation, Recording, Sample, SampleKind, Switch, SwitchKind, ThreadId, Time,
    WakeSource, Wakeup, WakeupKind,
};
use proptest::prelude::*;

use super::build;
use crate::wakers::Relevance;

/// Times of a recording of 1000 ns; some rows lie outside it.
fn times() -> impl Strategy<Value = u64> {
    0..1_100_u64
}

fn switches() -> impl Strategy<Value = Switch> {
    use SwitchKind::{In, Out, Preempted};
    let kinds = proptest::sample::select(&[In, Out, Preempted][..]);
    let letters = proptest::option::of(proptest::sample::select(&['R', 'S', 'D', 'T'][..]));
    (times(), 0..4_u32, kinds, letters).prop_map(|(time, thread, kind, letter)| Switch {
        time: Time(time),
        thread: ThreadId(thread),
        kind,
        cpu: 0,
        stack: None,
        state: letter.map(u32::from),
    })
}

fn wakeups() -> impl Strategy<Value = Wakeup> {
    let kinds = proptest::sample::select(&[WakeupKind::Waking, WakeupKind::Wakeup][..]);
    (times(), 0..4_u32, kinds, proptest::option::of(0..4_u32)).prop_map(
        |(time, thread, kind, waker)| Wakeup {
            time: Time(time),
            thread: ThreadId(thread),
            kind,
            source: if waker.is_some() { WakeSource::Thread } else { WakeSource::Timer },
            waker: waker.map(ThreadId),
            waker_stack: None,
        },
    )
}

fn samples() -> impl Strategy<Value = Sample> {
    let kinds = proptest::sample::select(&[SampleKind::User, SampleKind::Kernel][..]);
    (times(), 0..4_u32, kinds).prop_map(|(time, thread, kind)| Sample {
        time: Time(time),
        thread: ThreadId(thread),
        kind,
        cpu: 0,
        stack: None,
    })
}

fn observations() -> impl Strategy<Value = Observation> {
    (times(), 0..4_u32, proptest::sample::select(&['R', 'S', 'D'][..])).prop_map(
        |(time, thread, state)| Observation {
            time: Time(time),
            thread: ThreadId(thread),
            state: u32::from(state),
            syscall: None,
            wchan: None,
            file: None,
        },
    )
}

/// Three threads whose rows obey nothing but the order of time: as after any loss of records.
fn damaged() -> impl Strategy<Value = Recording> {
    let rows = |most| 0..most;
    (
        proptest::collection::vec(switches(), rows(40)),
        proptest::collection::vec(samples(), rows(40)),
        proptest::collection::vec(wakeups(), rows(20)),
        proptest::collection::vec(observations(), rows(5)),
    )
        .prop_map(|(switches, samples, wakeups, observations)| {
            let mut recording = parse(
                "tick 100ns\na(1)/a(1) UUUUUUUUUU\na(1)/b(2) ..UUU|\nc(3)/c(3) UUUUUUU|\nroot a(1)",
            )
            .expect("three threads");
            recording.intervals.clear();
            Recording { switches, samples, wakeups, observations, ..recording }
        })
        .prop_map(|mut recording| {
            recording.switches.sort_by_key(|row| row.time);
            recording.samples.sort_by_key(|row| row.time);
            recording.wakeups.sort_by_key(|row| row.time);
            recording.observations.sort_by_key(|row| row.time);
            recording
        })
}

proptest! {
    #[test]
    fn intervals_tile_each_threads_life(mut recording in damaged()) {
        let sums = build(&mut recording);
        prop_assert_eq!(sums.life.ours, sums.life.theirs);
        for at in 0..recording.threads.len() {
            let id = ThreadId::from_index(at);
            let mut now = recording.thread(id).start;
            for row in recording.intervals.iter().filter(|row| row.thread == id) {
                prop_assert_eq!(row.start, now);
                prop_assert!(row.duration > Nanos::ZERO);
                now = row.start + row.duration;
            }
            prop_assert_eq!(now, recording.thread_end(id));
        }
        let order = |a: &culprit_model::Interval, b: &culprit_model::Interval| {
            (a.thread, a.start) < (b.thread, b.start)
        };
        prop_assert!(recording.intervals.is_sorted_by(order));
    }

    #[test]
    fn the_critical_path_tiles_the_commands_life(mut recording in damaged()) {
        build(&mut recording);
        let relevance = Relevance::of(&recording);
        prop_assert_eq!(relevance.wall, Nanos(1_000));
        let mut now = Time(0);
        for segment in &relevance.path.segments {
            prop_assert_eq!(segment.from, now);
            now = segment.to;
        }
        prop_assert_eq!(now, Time(1_000));
        for (at, row) in recording.intervals.iter().enumerate() {
            prop_assert!(relevance.own(at) <= row.duration);
            prop_assert!(relevance.waited(at) <= row.duration);
        }
    }

    #[test]
    fn the_same_rows_build_the_same_intervals(recording in damaged()) {
        let (mut one, mut two) = (recording.clone(), recording);
        build(&mut one);
        build(&mut two);
        prop_assert_eq!(one, two);
    }
}
