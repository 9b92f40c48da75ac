//! One file a rule; the file listing is the catalogue.

pub(crate) mod cpu_quota_throttling;
pub(crate) mod fsync_storm;
pub(crate) mod hot_function;
pub(crate) mod idle_await;
pub(crate) mod lock_contention;
pub(crate) mod major_page_faults;
pub(crate) mod network_wait;
pub(crate) mod no_difference;
pub(crate) mod pipe_backpressure;
pub(crate) mod poll_sleep_loop;
pub(crate) mod recording_lost;
pub(crate) mod rights_missing;
pub(crate) mod run_queue;
pub(crate) mod serial_round_trips;
pub(crate) mod slower_in_place;
pub(crate) mod small_io;
pub(crate) mod spawn_storm;
pub(crate) mod stacks_truncated;
pub(crate) mod symbols_missing;
pub(crate) mod unclear;
pub(crate) mod wait_on_child;
pub(crate) mod wait_on_thread;
