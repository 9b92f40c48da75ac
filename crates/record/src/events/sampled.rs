//! Sampled allocations into rows.
//!
//! ```text
//! sampled   allocs, alloc-bytes    now; a row has sums of weights and their variances
//! freed     forgets the sample
//! the end   live, live-bytes       of samples that were not freed, at the times when they were made
//! ```
//!
//! A sample that was not freed lives on when its process ends or executes another program: nobody freed it.
//! A child has its parent's blocks in its own memory; what it frees of them it was not sampled for.

use std::collections::BTreeMap;

use culprit_model::{LossKind, Metric, ThreadId, Time, standard_error};
use rustc_hash::FxHashMap;

use crate::events::attr::UNWIND_REGISTERS;
use crate::events::decode::Sample;
use crate::events::handle::Handler;
use crate::events::probed::probed_chain;
use crate::events::sizes::BlockSize;
use crate::events::space::SpaceId;
use crate::events::stacks::{RawStack, Reach, UnwoundFrames, Variant, join};
use crate::probes::sampler::{MOST_SIZE, SamplerEvent, Weight};
use crate::probes::{Hit, Moment};

/// Live samples that are kept at most: each library has room for 65,536.
const MOST_LIVE: usize = 1 << 20;

/// Files with a `malloc` of their own that are named at most.
const MOST_BYPASSES: usize = 64;

/// A block that was sampled and may live.
#[derive(Debug, Clone, Copy)]
struct Block {
    time: Time,
    thread: ThreadId,
    stack: Option<RawStack>,
    size: u64,
    weight: Weight,
}

/// What is known of sampled allocations.
#[derive(Debug, Default)]
pub(crate) struct SampledBlocks {
    /// By process and address.
    live: FxHashMap<(i32, u64), Block>,
    /// Those whose address was given to another one and who were not freed.
    left: Vec<Block>,
    /// Samples whose end nobody follows.
    unfollowed: u64,
    samples: u64,
    /// Processes that have loaded the library and reach its `malloc`.
    attached: u64,
    least_mean: Option<u64>,
    largest_mean: u64,
    count: Sum,
    bytes: Sum,
    /// How many processes reach a `malloc` that is not the library's, by the file that has it.
    bypassed: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    variance: f64,
}

impl Sum {
    fn add(&mut self, value: f64, variance: f64) {
        self.value += value;
        self.variance += variance;
    }

    /// The standard error, in percent of the value.
    fn error_percent(self) -> f64 {
        let error = standard_error(self.value, self.variance);
        if self.value > 0.0 { 100.0 * error / self.value } else { 0.0 }
    }
}

impl Block {
    /// Number and bytes that it stands for, each with its variance.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn estimates(&self) -> [(f64, f64); 2] {
        let (size, Weight { count, variance }) = (self.size as f64, self.weight);
        [(count, variance), (count * size, variance * size * size)]
    }
}

impl Handler {
    /// The library that samples allocations tells something.
    pub(crate) fn sampler_event(
        &mut self,
        event: SamplerEvent,
        hit: &Hit<'_>,
        sample: &Sample<'_>,
        (thread, time): (ThreadId, Time),
    ) {
        let pid = sample.task.pid;
        match event {
            SamplerEvent::Sampled => {
                let arguments = [0, 1, 2, 3].map(|number| hit.argument(number));
                if let [Some(address), Some(size), Some(mean), Some(followed)] = arguments {
                    let size = size.min(MOST_SIZE);
                    let called = (hit.argument(4), size);
                    let stack = self.sampled_stack(sample, called, (thread, time));
                    let weight = Weight::new(size, mean);
                    let block = Block { time, thread, stack, size, weight };
                    self.block(block, mean, Some((pid, address)).filter(|_| followed != 0));
                }
            }
            SamplerEvent::Freed => {
                if let Some(address) = hit.argument(0) {
                    self.sampled.live.remove(&(pid, address));
                }
            }
            SamplerEvent::Attached => {
                if let (Some(first), Some(own)) = (hit.argument(0), hit.argument(1)) {
                    self.attached(thread, (first, own));
                }
            }
        }
    }

    fn block(&mut self, block: Block, mean: u64, followed: Option<(i32, u64)>) {
        let [count, bytes] = block.estimates();
        let spot = (block.time, block.thread, block.stack);
        self.rows.costs.add_estimate(Metric::Allocs, spot, count);
        self.rows.costs.add_estimate(Metric::AllocBytes, spot, bytes);
        let sampled = &mut self.sampled;
        sampled.samples += 1;
        sampled.least_mean = Some(sampled.least_mean.map_or(mean, |least| least.min(mean)));
        sampled.largest_mean = sampled.largest_mean.max(mean);
        sampled.count.add(count.0, count.1);
        sampled.bytes.add(bytes.0, bytes.1);
        let kept = sampled.live.len() + sampled.left.len();
        match followed.filter(|_| kept < MOST_LIVE) {
            Some(key) => sampled.left.extend(sampled.live.insert(key, block)),
            None => sampled.unfollowed += 1,
        }
    }

    /// A process has loaded the library, and reaches this `malloc`.
    fn attached(&mut self, thread: ThreadId, (first, own): (u64, u64)) {
        let space = self.tracker.space(thread);
        let module = |address| self.spaces.find(space, address).map(|map| map.module);
        let (Some(theirs), Some(ours)) = (module(first), module(own)) else { return };
        if theirs == ours {
            self.sampled.attached += 1;
            return;
        }
        let path = self.modules.rows().get(theirs.index()).map(|row| row.path.to_string());
        let path = path.unwrap_or_default();
        let bypassed = &mut self.sampled.bypassed;
        if bypassed.len() < MOST_BYPASSES || bypassed.contains_key(&path) {
            *bypassed.entry(path).or_default() += 1;
        }
    }

    /// The stack of a sample: the block's size, then the allocator's function that was called. What that
    /// called in the library is left out. Samples of one class have one stack, which learns their size where
    /// all have the same.
    fn sampled_stack(
        &mut self,
        sample: &Sample<'_>,
        (function, size): (Option<u64>, u64),
        (thread, time): (ThreadId, Time),
    ) -> Option<RawStack> {
        let space = self.tracker.space(thread);
        let by_pointers = probed_chain(sample, Moment::Entry)?;
        let has_dump = sample.stack.len() > crate::probes::STACK_TOP as usize;
        let dump = has_dump.then_some((sample, UNWIND_REGISTERS));
        let dumped = dump.and_then(|dump| self.dumped_frames(dump, thread, time));
        let chain = dumped.and_then(|dumped| self.dumped_and_found(thread, dumped, &by_pointers));
        let chain = chain.map_or(by_pointers, |unwound| unwound.chain);
        let inner = self.frames_of_library(space, &chain);
        let callers = chain.get(inner..).unwrap_or_default();
        // Behind the first word of a chain stand return addresses, which are looked up one byte before.
        let function = function.map(|address| address.saturating_add(1));
        let of_size = |size: BlockSize| -> Vec<u64> {
            let words = [size.word()].into_iter().chain(function);
            words.chain(callers.iter().copied()).collect()
        };
        let of_class = join(&[], &of_size(BlockSize::class(size)));
        let stack = self.raw.intern(space, Variant::default(), &of_class);
        let exact = UnwoundFrames { chain: of_size(BlockSize::Exact(size)), reach: Reach::Root };
        self.raw.learn(stack, &exact);
        Some(stack)
    }

    /// How many of the innermost frames are of the file that was probed.
    fn frames_of_library(&self, space: SpaceId, chain: &[u64]) -> usize {
        let module = |address: &u64| self.spaces.find(space, *address).map(|map| map.module);
        let Some(library) = chain.first().and_then(module) else { return 0 };
        chain.iter().take_while(|address| module(address) == Some(library)).count()
    }

    /// The end of the recording: blocks that live, and what there is to say about all.
    pub(crate) fn end_sampling(&mut self) {
        let SampledBlocks { live, left, .. } = &mut self.sampled;
        let mut blocks: Vec<Block> = std::mem::take(left);
        blocks.extend(live.drain().map(|(_, block)| block));
        blocks.sort_unstable_by_key(|block| (block.time, block.thread, block.stack, block.size));
        for block in blocks {
            let [count, bytes] = block.estimates();
            let spot = (block.time, block.thread, block.stack);
            self.rows.costs.add_estimate(Metric::Live, spot, count);
            self.rows.costs.add_estimate(Metric::LiveBytes, spot, bytes);
        }
        let sampled = &self.sampled;
        if let Some(words) = sampled.describe() {
            self.ledger.once(LossKind::AllocationsSampled, "", &words);
        }
        let subject = "sampled blocks that `live` and `live-bytes` lack: nobody followed them";
        self.ledger.whole(LossKind::AllocationsMissing, subject, sampled.unfollowed);
        for (path, processes) in &sampled.bypassed {
            let subject = format!("processes that were not sampled: their `malloc` is in {path}");
            self.ledger.whole(LossKind::AllocationsMissing, &subject, *processes);
        }
    }
}

impl SampledBlocks {
    /// What the estimates rest on; none where nothing could be sampled.
    fn describe(&self) -> Option<String> {
        let Some(least) = self.least_mean else {
            let none =
                "no samples: fewer bytes were allocated than lie between two samples on average";
            return (self.attached > 0).then(|| none.to_owned());
        };
        let mean = if least == self.largest_mean {
            format!("{least} bytes")
        } else {
            format!("{least} to {} bytes", self.largest_mean)
        };
        let (samples, count, bytes) = (self.samples, self.count, self.bytes);
        // Reports cut the middle of a long detail: the ends have to do.
        Some(format!(
            "{samples} samples, one in {mean} on average; standard errors {:.1} % of {:.0} allocations, {:.1} % of \
             {:.0} bytes",
            count.error_percent(),
            count.value,
            bytes.error_percent(),
            bytes.value,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_estimates_rest_on_is_stated() {
        assert_eq!(SampledBlocks::default().describe(), None);
        let few = SampledBlocks { attached: 1, ..SampledBlocks::default() };
        assert!(few.describe().is_some_and(|words| words.starts_with("no samples")));
        let sampled = SampledBlocks {
            samples: 4,
            least_mean: Some(65_536),
            largest_mean: 65_536,
            count: Sum { value: 1000.0, variance: 2500.0 },
            bytes: Sum { value: 64_000.0, variance: 2500.0 * 64.0 * 64.0 },
            ..SampledBlocks::default()
        };
        assert_eq!(
            sampled.describe().unwrap(),
            "4 samples, one in 65536 bytes on average; standard errors 5.0 % of 1000 allocations, 5.0 % of 64000 \
             bytes"
        );
        let words = SampledBlocks { largest_mean: 131_072, ..sampled }.describe().unwrap();
        assert!(words.contains("one in 65536 to 131072 bytes on"), "{words}");
    }
}
