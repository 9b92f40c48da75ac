//! Records a command and prints how many rows came out: `record OUT.culprit CMD...`.
//!
//! The smallest complete use of the crate, and what the cost of recording is measured with.

use culprit_place::{Cgroup, Command, Position, Settings};
use culprit_record::{Ending, Options, StopHandle, Target, Waiting, plan};

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let output = arguments.next().ok_or("usage: record OUT.culprit CMD...")?;
    let command: Vec<String> = arguments.collect();
    let plan = plan(Options { command: command.clone(), ..Options::new(Target::Command, output) })?;
    for sentence in plan.degraded() {
        println!("{sentence}");
    }
    let cgroup = plan.wants_cgroup().then(|| Cgroup::create(Position::BelowOurs)).transpose()?;
    let place = culprit_place::open(&"host".parse()?, &Settings::default())?;
    let held = place.hold(&Command::new(command), cgroup.as_ref())?;
    let armed = plan.arm(Waiting { pid: held.pid(), cgroup: cgroup.as_ref() })?;
    let running = held.start()?;
    let stop = StopHandle::new();
    let exit = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let exit = running.wait();
            stop.stop();
            exit
        });
        armed.run(&stop, &mut |_| {});
        waiter.join()
    });
    let exit = exit.map_err(|_| "the waiting thread panicked")??;
    let finished =
        armed.finish(Ending { exit_code: Some(exit.shell_code()), ..Ending::default() })?;
    let recording = finished.recording;
    println!(
        "{} switches, {} samples, {} wakeups, {} faults, {} stacks, {} frames",
        recording.switches.len(),
        recording.samples.len(),
        recording.wakeups.len(),
        recording.faults.len(),
        recording.stacks.len(),
        recording.frames.len(),
    );
    for loss in &recording.losses {
        println!("lost: {} {} {}", loss.kind, loss.count, loss.detail);
    }
    println!("recorder CPU {}", recording.meta.recorder_cpu);
    Ok(())
}
