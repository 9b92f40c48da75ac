use super::*;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs a child")]
fn a_parent_that_was_never_seen_has_a_row_before_its_child() {
    let mut shell = std::process::Command::new("sh")
        .args(["-c", "sleep 60 & echo $!; wait"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = shell.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
    let sleeper: i32 = line.trim().parse().unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    let (mut tracker, mut spaces) = (Tracker::default(), Spaces::default());
    let mut met = |pid| tracker.thread(Task { pid, tid: pid }, Time(1), &mut spaces);
    let (first, last) = (met(own), met(sleeper));
    let process = |thread: ThreadId| tracker.threads[thread.index()].process;
    let above = |id: ProcessId| tracker.processes[id.index()].parent.unwrap();
    let between = above(process(last));
    assert_eq!(tracker.processes[between.index()].pid.0, shell.id());
    assert_eq!(above(between), process(first));
    assert!(between < process(last));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(sleeper).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    shell.wait().unwrap();
}

#[test]
fn a_switch_without_a_stack_has_the_last_one_of_its_state() {
    let mut state = ThreadState::default();
    let (slept, read) = (RawStack(1), RawStack(2));
    assert_eq!(state.usual('S', None), (None, false));
    assert_eq!(state.usual('S', Some(slept)), (Some(slept), true));
    assert_eq!(state.usual('D', None), (None, false));
    assert_eq!(state.usual('D', Some(read)), (Some(read), true));
    assert_eq!(state.usual('S', None), (Some(slept), false));
}
