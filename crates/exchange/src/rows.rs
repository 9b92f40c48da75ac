//! Rows that more than one event can tell about the same time or the same memory: which of them
//! count is known at the end.

use culprit_model::{Cause, LossKind, Metric};

use crate::builder::{Amount, Builder};

/// Where a row is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A sample of what runs.
    Running,
    /// A sample of all threads, running or not.
    Looked,
    /// A wait, from its begin to its end.
    Waited,
    /// Memory, told when a thread needs a new piece of the heap.
    Heap,
    /// Memory, told of some allocations, weighed.
    HeapSampled,
}

#[derive(Debug, Default)]
pub(crate) struct Rows(Vec<(Part, Amount)>);

impl Rows {
    pub(crate) fn push(&mut self, part: Part, amount: Amount) {
        self.0.push((part, amount));
    }

    fn has(&self, part: Part) -> bool {
        self.0.iter().any(|row| row.0 == part)
    }

    /// Hands the rows on so that no time and no memory counts twice.
    ///
    /// Samples of what runs and waits are different times of a thread: together they are `wall`,
    /// each with its cause. Beside looks at all threads, which are `wall` themselves, they are
    /// `cpu` and `blocked`; alone, samples of what runs are `cpu`.
    pub(crate) fn finish(self, builder: &mut Builder) {
        let (looked, waited) = (self.has(Part::Looked), self.has(Part::Waited));
        let (ran, heap) = (self.has(Part::Running), self.has(Part::Heap));
        // What another row tells, a look at all threads need not tell again.
        let told = |cause: Cause| if cause.is_cpu() { ran } else { waited };
        let mut twice = 0;
        for (part, mut amount) in self.0 {
            match part {
                Part::Running if looked || !waited => amount.metric = Metric::Cpu,
                Part::Waited if looked => amount.metric = Metric::Blocked,
                Part::Looked if amount.cause.is_some_and(told) => amount.cause = None,
                Part::HeapSampled if heap => {
                    twice += 1;
                    continue;
                }
                _ => {}
            }
            builder.add(amount);
        }
        if twice > 0 {
            let what = "samples of allocations, because other events already cover this memory";
            builder.lose(LossKind::DetailLeftOut, twice, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metrics and causes of one row of each part.
    fn finish(parts: &[(Part, Metric, Option<Cause>)]) -> Vec<(Metric, Option<Cause>)> {
        let mut rows = Rows::default();
        for (part, metric, cause) in parts {
            rows.push(*part, Amount { cause: *cause, ..Amount::at(None, *metric, 1) });
        }
        let mut builder = Builder::default();
        rows.finish(&mut builder);
        builder.recording().costs.iter().map(|cost| (cost.metric, cost.cause)).collect()
    }

    #[test]
    fn no_time_counts_twice() {
        let running = (Part::Running, Metric::Wall, Some(Cause::CpuUser));
        let waited = (Part::Waited, Metric::Wall, Some(Cause::Lock));
        let looked = (Part::Looked, Metric::Wall, Some(Cause::Other));
        let (user, lock, other) = (Some(Cause::CpuUser), Some(Cause::Lock), Some(Cause::Other));
        assert_eq!(finish(&[running]), [(Metric::Cpu, user)]);
        assert_eq!(finish(&[running, waited]), [(Metric::Wall, user), (Metric::Wall, lock)]);
        assert_eq!(finish(&[running, looked]), [(Metric::Cpu, user), (Metric::Wall, other)]);
        assert_eq!(finish(&[waited, looked]), [(Metric::Blocked, lock), (Metric::Wall, None)]);
    }

    #[test]
    fn memory_told_twice_counts_once() {
        let (heap, sampled) = (Part::Heap, Part::HeapSampled);
        let row = |part| (part, Metric::AllocBytes, None);
        assert_eq!(finish(&[row(heap), row(sampled)]).len(), 1);
        assert_eq!(finish(&[row(sampled)]).len(), 1);
    }
}
