//! Which CPU time of a thread each of its samples speaks for.
//!
//! ```text
//! wall time   ran--s-----   waits   -ran----------s---
//! CPU time    ----s------+----------s---                 half way between the two samples: the border
//! ```
//!
//! The clock of the samples runs while the thread does, so samples are evenly spaced in its CPU time. Borders half
//! way in CPU time give each the same part. Borders within each stretch would not: what runs just behind
//! or just before a wait would have up to half of its time taken by what runs in the middle.

use culprit_model::{Recording, SwitchKind, Time};

/// The border between each sample and the next one, by their places in a thread's list. Both lists are in
/// order of time. Linear in both.
pub(super) fn borders(recording: &Recording, samples: &[u32], switches: &[u32]) -> Vec<Time> {
    let time = |at: &u32| recording.samples[*at as usize].time;
    let mut switches = switches.iter().map(|at| &recording.switches[*at as usize]).peekable();
    let mut ran: Vec<(Time, Time)> = Vec::new();
    let pairs = samples.iter().zip(samples.iter().skip(1));
    pairs
        .map(|(one, other)| {
            let (from, to) = (time(one), time(other));
            ran.clear();
            let mut since = Some(from);
            while let Some(switch) = switches.next_if(|switch| switch.time < to) {
                if switch.time < from {
                    continue;
                }
                match (switch.kind, since) {
                    (SwitchKind::In, None) => since = Some(switch.time),
                    (SwitchKind::Out | SwitchKind::Preempted, Some(began)) => {
                        ran.push((began, switch.time));
                        since = None;
                    }
                    _ => {}
                }
            }
            ran.extend(since.map(|began| (began, to)));
            half_way(&ran).unwrap_or(to)
        })
        .collect()
}

/// Where half of the time in some spans is over; none where they have no time.
fn half_way(spans: &[(Time, Time)]) -> Option<Time> {
    let all: u64 = spans.iter().map(|(from, to)| to.since(*from).0).sum();
    let mut rest = all / 2;
    spans.iter().find_map(|(from, to)| {
        let span = to.since(*from).0;
        if rest < span {
            return Some(Time(from.0 + rest));
        }
        rest -= span;
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse_raw;

    fn of(drawing: &str, samples: &[u64]) -> Vec<u64> {
        let drawing =
            format!("stack u cpu.user f\nstack b blocked.sleep g\napp(1)/main(1) {drawing}");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        let (first, rest) = (recording.samples[0].clone(), samples.iter());
        recording.samples =
            rest.map(|time| culprit_model::Sample { time: Time(*time), ..first.clone() }).collect();
        let all = |count: usize| (0..u32::try_from(count).unwrap_or(0)).collect::<Vec<u32>>();
        let (samples, switches) = (all(recording.samples.len()), all(recording.switches.len()));
        borders(&recording, &samples, &switches).iter().map(|time| time.0).collect()
    }

    #[test]
    fn a_border_is_half_way_in_cpu_time() {
        // Each letter is 1 ms.
        assert_eq!(of("uuuuuuuu", &[1_000_000, 5_000_000, 7_000_000]), [3_000_000, 6_000_000]);
        // From 2 to 6 ms it waits: 1 ms before it and 3 ms behind it were run.
        assert_eq!(of("uubbbbuuuu", &[1_000_000, 9_000_000]), [7_000_000]);
        // 3 ms before and 1 ms behind.
        assert_eq!(of("uuuubbbbuu", &[1_000_000, 9_000_000]), [3_000_000]);
        assert_eq!(of("uuuu", &[1_000_000]), [0; 0]);
        assert_eq!(of("uuuu", &[1_000_000, 1_000_000]), [1_000_000], "no time lies between");
    }
}
