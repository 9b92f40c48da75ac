//! Who or what made a thread ready.
//!
//! Outside interrupts the current thread is the waker. In an interrupt the current thread has no
//! part in it, but where it sends to a socket of the same machine; and the kernel functions on the stack tell what it was: the rules are data, looked
//! for from the innermost frame outwards. Sources: kernel/time/hrtimer.c, kernel/time/timer.c,
//! block/blk-mq.c, net/core/dev.c and the stacks that were seen on 6.18.

use culprit_model::WakeSource;

/// Beginnings of names of kernel functions, and what it was when one is on the stack.
const RULES: [(&str, WakeSource); 25] = [
    ("hrtimer_wakeup", WakeSource::Timer),
    ("process_timeout", WakeSource::Timer),
    ("it_real_fn", WakeSource::Timer),
    ("posix_timer_", WakeSource::Timer),
    ("alarm_timer_", WakeSource::Timer),
    ("timerfd_tmrproc", WakeSource::Timer),
    ("delayed_work_timer_fn", WakeSource::Timer),
    ("blk_complete_reqs", WakeSource::Disk),
    ("blk_done_softirq", WakeSource::Disk),
    ("blk_mq_complete", WakeSource::Disk),
    ("blk_mq_end_request", WakeSource::Disk),
    ("blk_update_request", WakeSource::Disk),
    ("bio_endio", WakeSource::Disk),
    ("virtblk_done", WakeSource::Disk),
    ("nvme_irq", WakeSource::Disk),
    ("scsi_", WakeSource::Disk),
    ("iomap_dio_bio_end_io", WakeSource::Disk),
    ("net_rx_action", WakeSource::Network),
    ("__napi_poll", WakeSource::Network),
    ("napi_complete", WakeSource::Network),
    ("netif_receive_skb", WakeSource::Network),
    ("tcp_write_timer", WakeSource::Network),
    ("process_backlog", WakeSource::Network),
    ("__hrtimer_run_queues", WakeSource::Timer),
    ("run_timer_", WakeSource::Timer),
];

/// Who made a thread ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WokenBy {
    /// The thread that is on the CPU.
    CurrentThread,
    /// An interrupt, of this kind.
    Interrupt(WakeSource),
}

/// The calls by which the current thread delivers its own data to a socket of the same machine, from the
/// inside: `__dev_queue_xmit` puts them on the CPU's backlog, and the end of its critical section runs the
/// receive path, before the call that sends returns (net/core/dev.c, kernel/softirq.c).
const OWN_SEND: [&str; 3] = ["process_backlog", "__local_bh_enable_ip", "__dev_queue_xmit"];

/// What an interrupt with these kernel functions on its stack, innermost first, was.
pub(crate) fn classify<'a>(functions: impl Iterator<Item = &'a str> + Clone) -> WokenBy {
    let mut outwards = functions.clone();
    if OWN_SEND.iter().all(|wanted| outwards.any(|name| name == *wanted)) {
        return WokenBy::CurrentThread;
    }
    let ruled = functions.filter_map(|name| {
        RULES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, source)| *source)
    });
    WokenBy::Interrupt(ruled.into_iter().next().unwrap_or(WakeSource::Interrupt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stack: &str, expected: WakeSource) {
        assert_eq!(classify(stack.split(" < ")), WokenBy::Interrupt(expected), "{stack}");
    }

    #[test]
    fn stacks_seen_on_a_real_kernel_get_their_source() {
        check(
            "try_to_wake_up < hrtimer_wakeup < __hrtimer_run_queues < hrtimer_interrupt",
            WakeSource::Timer,
        );
        check(
            "try_to_wake_up < wake_page_function < folio_end_read < bio_endio < blk_update_request \
             < virtblk_done < vring_interrupt",
            WakeSource::Disk,
        );
        check(
            "try_to_wake_up < sock_def_readable < tcp_rcv_established < process_backlog \
             < __napi_poll < net_rx_action < handle_softirqs",
            WakeSource::Network,
        );
        check("try_to_wake_up < complete < mlx5_cmd_comp_handler", WakeSource::Interrupt);
    }

    #[test]
    fn a_sender_on_the_same_machine_wakes_the_receiver() {
        let received = "try_to_wake_up < sock_def_readable < tcp_rcv_established < process_backlog \
                        < __napi_poll < net_rx_action < handle_softirqs";
        let sends = "do_softirq.part.0 < __local_bh_enable_ip < __dev_queue_xmit < ip_finish_output2 \
                     < tcp_write_xmit < tcp_sendmsg < __x64_sys_sendto";
        let stack = format!("{received} < {sends}");
        assert_eq!(classify(stack.split(" < ")), WokenBy::CurrentThread);
        // The same data, where the CPU got to them later.
        check(&format!("{received} < run_ksoftirqd < smpboot_thread_fn"), WakeSource::Network);
    }
}
