//! Every rule, in the order of the catalogue.

use thiserror::Error;

use crate::rule::{Rule, RuleDoc};
use crate::{probes, rules};

/// Lists the rules once: those of recordings and their pages, then the pages of those that read
/// probes' answers alone.
macro_rules! rules {
    (recordings: $($module:ident::$rule:ident,)+; probes: $($doc:ident,)+) => {
        /// Every rule.
        pub(crate) static RULES: &[&dyn Rule] = &[$(&rules::$module::$rule,)+];
        static DOCS: &[RuleDoc] = &[$(rules::$module::DOC,)+ $(probes::$doc,)+];
    };
}
rules! {
    recordings:
    poll_sleep_loop::PollSleepLoop,
    lock_contention::LockContention,
    lock_across_requests::LockAcrossRequests,
    wait_on_thread::WaitOnThread,
    wait_on_child::WaitOnChild,
    spawn_storm::SpawnStorm,
    repeated_start::RepeatedStart,
    thread_spawn_storm::ThreadSpawnStorm,
    network_wait::NetworkWait,
    serial_round_trips::SerialRoundTrips,
    answer_after_timer::AnswerAfterTimer,
    no_answer_in_time::NoAnswerInTime,
    blocked_event_loop::BlockedEventLoop,
    blocked_thread_pool::BlockedThreadPool,
    delayed_ack::DelayedAck,
    syn_retransmission::SynRetransmission,
    pipe_backpressure::PipeBackpressure,
    idle_await::IdleAwait,
    name_lookup_wait::NameLookupWait,
    uneven_instances::UnevenInstances,
    fsync_storm::FsyncStorm,
    overlay_copy_up::OverlayCopyUp,
    small_io::SmallIo,
    major_page_faults::MajorPageFaults,
    path_lookup_storm::PathLookupStorm,
    timezone_stat::TimezoneStat,
    metadata_storm::MetadataStorm,
    commit_batch_too_small::CommitBatchTooSmall,
    dirty_throttling::DirtyThrottling,
    random_read::RandomRead,
    sequential_read::SequentialRead,
    directory_scan::DirectoryScan,
    minor_fault_storm::MinorFaultStorm,
    memory_growth::MemoryGrowth,
    mapped_not_leaked::MappedNotLeaked,
    hot_function::HotFunction,
    date_parse_hot::DateParseHot,
    case_fold_hot::CaseFoldHot,
    regex_compile_hot::RegexCompileHot,
    serialize_hot::SerializeHot,
    number_format_hot::NumberFormatHot,
    exception_hot::ExceptionHot,
    hash_lookup_hot::HashLookupHot,
    copy_hot::CopyHot,
    alloc_churn::AllocChurn,
    growth_realloc::GrowthRealloc,
    atomic_contention::AtomicContention,
    spin_wait::SpinWait,
    syscall_storm::SyscallStorm,
    poll_scan::PollScan,
    futex_storm::FutexStorm,
    signal_storm::SignalStorm,
    timer_storm::TimerStorm,
    dynamic_link_startup::DynamicLinkStartup,
    descriptor_close_loop::DescriptorCloseLoop,
    clock_in_kernel::ClockInKernel,
    gc_pressure::GcPressure,
    jit_warmup::JitWarmup,
    first_call_cost::FirstCallCost,
    repeated_work::RepeatedWork,
    single_thread_limit::SingleThreadLimit,
    run_queue::RunQueue,
    neighbour_cpu::NeighbourCpu,
    cpu_quota_throttling::CpuQuotaThrottling,
    memory_limit_reclaim::MemoryLimitReclaim,
    memory_limit_reread::MemoryLimitReread,
    io_limit_throttling::IoLimitThrottling,
    log_driver_backpressure::LogDriverBackpressure,
    seccomp_cost::SeccompCost,
    slower_in_place::SlowerInPlace,
    no_difference::NoDifference,
    unclear::Unclear,
    recording_lost::RecordingLost,
    stacks_truncated::StacksTruncated,
    symbols_missing::SymbolsMissing,
    rights_missing::RightsMissing,
    unexplained::Unexplained,
    ;
    probes: BRIDGE_NETWORK_COST, CONTAINER_LAYER_IO, EMULATED_ARCH, IMAGE_BLOAT, NOTIFY_BLIND,
    PUBLISH_PROXY, READER_CHOSE_POLLING, SHARED_FOLDER_FS,
}

/// Every rule's page, in the order of the catalogue.
#[must_use]
pub fn catalogue() -> &'static [RuleDoc] {
    DOCS
}

/// An identifier that no rule has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no finding `{id}`; known: {known}")]
#[non_exhaustive]
pub struct UnknownFinding {
    /// The identifier that was asked for.
    pub id: String,
    /// Every known identifier, joined by commas.
    pub known: String,
}

/// The page of one rule.
///
/// # Errors
/// [`UnknownFinding`] when no rule has the identifier.
pub fn explain(id: &str) -> Result<&'static RuleDoc, UnknownFinding> {
    catalogue().iter().find(|doc| doc.id == id).ok_or_else(|| {
        let known: Vec<_> = catalogue().iter().map(|doc| doc.id).collect();
        UnknownFinding { id: id.to_owned(), known: known.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rules::{recording_lost, rights_missing, stacks_truncated, symbols_missing};
    use culprit_model::LossKind;

    #[test]
    fn every_rule_has_every_text() {
        for doc in catalogue() {
            let page = [doc.claim, doc.signature, doc.why, doc.check];
            assert!(!doc.fix.is_empty(), "{}: nothing to do", doc.id);
            for text in page.iter().chain(doc.fix) {
                assert!(text.len() > 20, "{}: {text:?} is too short to help", doc.id);
                assert!(!text.contains("  "), "{}: {text:?} has gaps", doc.id);
            }
            for threshold in doc.thresholds {
                assert!(threshold.value > 0.0 && !threshold.unit.is_empty(), "{}", doc.id);
                assert!(threshold.reason.len() > 20 && !threshold.source.is_empty(), "{}", doc.id);
            }
            assert!(doc.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", doc.id);
        }
        let ids: BTreeSet<_> = catalogue().iter().map(|d| d.id).collect();
        assert_eq!(ids.len(), catalogue().len(), "an identifier is used twice");
    }

    #[test]
    fn rules_yield_to_rules_without_circles() {
        let page = |id: &str| catalogue().iter().find(|doc| doc.id == id);
        for doc in catalogue() {
            let mut open: Vec<&str> = doc.yields_to.to_vec();
            let mut seen = BTreeSet::new();
            while let Some(id) = open.pop() {
                let other = page(id).unwrap_or_else(|| panic!("{}: no rule {id}", doc.id));
                assert_ne!(id, doc.id, "it yields to itself");
                assert!(other.specificity >= doc.specificity, "{} says more than {id}", doc.id);
                if seen.insert(id) {
                    open.extend(other.yields_to);
                }
            }
        }
    }

    #[test]
    fn every_kind_of_loss_belongs_to_exactly_one_quality_finding() {
        // What a probe cost is no loss, what did not pair is told with the activities, and no finding
        // rests on what is missing of allocations.
        let elsewhere = [
            LossKind::ProbesCost,
            LossKind::ActivitiesUnpaired,
            LossKind::AllocationsSampled,
            LossKind::AllocationsMissing,
        ];
        let told = [
            recording_lost::KINDS,
            stacks_truncated::KINDS,
            symbols_missing::KINDS,
            rights_missing::KINDS,
        ];
        for kind in LossKind::all() {
            let rules = told.iter().filter(|kinds| kinds.contains(kind)).count();
            assert_eq!(rules, usize::from(!elsewhere.contains(kind)), "{kind}");
        }
    }

    #[test]
    fn an_unknown_finding_is_answered_with_the_known_ones() {
        let error = explain("slow-computer").unwrap_err().to_string();
        assert!(error.contains("`slow-computer`") && error.contains("fsync-storm"), "{error}");
        assert_eq!(explain("fsync-storm").map(|d| d.id), Ok("fsync-storm"));
    }
}
