//! One file (or folder) a probe: what runs in the place, and how our side conducts it.
//!
//! To add one: a file with its [`Task`](crate::inside) and its [`Probe`](crate::Probe), a line in `run`
//! below, and its options in the program.

pub(crate) mod coherence;
pub mod copy_up;
pub mod disk;
pub(crate) mod durable;
pub mod files;
pub(crate) mod layers;
pub mod log;
pub mod memory;
pub mod net;
pub mod notify;
pub mod pressure;
pub mod quota;
pub mod start;
pub(crate) mod storage;
pub mod syscall;

use serde_json::Value;

use crate::inside::{Fault, Here, Task, run_task};

/// Runs the task of this name.
///
/// # Errors
/// When there is none, its input is not its own, or it fails.
pub(crate) fn run(name: &str, input: Value, here: &mut Here) -> Result<Value, Fault> {
    match name {
        copy_up::Make::NAME => run_task::<copy_up::Make>(input, here),
        copy_up::Remove::NAME => run_task::<copy_up::Remove>(input, here),
        copy_up::Touch::NAME => run_task::<copy_up::Touch>(input, here),
        disk::Load::NAME => run_task::<disk::Load>(input, here),
        disk::Write::NAME => run_task::<disk::Write>(input, here),
        durable::Durable::NAME => run_task::<durable::Durable>(input, here),
        files::Pass::NAME => run_task::<files::Pass>(input, here),
        files::Unlink::NAME => run_task::<files::Unlink>(input, here),
        layers::Layers::NAME => run_task::<layers::Layers>(input, here),
        layers::Miss::NAME => run_task::<layers::Miss>(input, here),
        layers::Mount::NAME => run_task::<layers::Mount>(input, here),
        log::Lines::NAME => run_task::<log::Lines>(input, here),
        memory::Touch::NAME => run_task::<memory::Touch>(input, here),
        net::Open::NAME => run_task::<net::Open>(input, here),
        net::Serve::NAME => run_task::<net::Serve>(input, here),
        net::Talk::NAME => run_task::<net::Talk>(input, here),
        pressure::Fill::NAME => run_task::<pressure::Fill>(input, here),
        pressure::Read::NAME => run_task::<pressure::Read>(input, here),
        net::Lookup::NAME => run_task::<net::Lookup>(input, here),
        quota::Contest::NAME => run_task::<quota::Contest>(input, here),
        quota::Rivalled::NAME => run_task::<quota::Rivalled>(input, here),
        quota::Rivals::NAME => run_task::<quota::Rivals>(input, here),
        quota::Chunks::NAME => run_task::<quota::Chunks>(input, here),
        quota::Threads::NAME => run_task::<quota::Threads>(input, here),
        start::Faults::NAME => run_task::<start::Faults>(input, here),
        start::Hello::NAME => run_task::<start::Hello>(input, here),
        start::Starts::NAME => run_task::<start::Starts>(input, here),
        notify::Append::NAME => run_task::<notify::Append>(input, here),
        notify::Programs::NAME => run_task::<notify::Programs>(input, here),
        notify::Rows::NAME => run_task::<notify::Rows>(input, here),
        notify::Upper::NAME => run_task::<notify::Upper>(input, here),
        notify::Watch::NAME => run_task::<notify::Watch>(input, here),
        notify::Watched::NAME => run_task::<notify::Watched>(input, here),
        storage::Storage::NAME => run_task::<storage::Storage>(input, here),
        syscall::Batches::NAME => run_task::<syscall::Batches>(input, here),
        _ => Err(Fault::new(format!("unknown task `{name}`")).hint(
            "the measuring program in the place has another version; use the same version of \
             Culprit everywhere",
        )),
    }
}
