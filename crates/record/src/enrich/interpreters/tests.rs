use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::*;

/// Takes all the time that there is, and counts how often it was read.
struct Slow(Arc<AtomicUsize>);

impl Interpreter for Slow {
    fn read(&mut self, until: u64, _: &mut Vec<Reading>) -> Result<(), Unreadable> {
        self.0.fetch_add(1, Ordering::Relaxed);
        while monotonic_ns() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        0
    }
}

/// Who reads interpreters, and the ends of its lines.
fn interpreters() -> (Interpreters, Sender<Notice>, Receiver<Vec<Reading>>) {
    let (send, notices) = channel();
    let (out, readings) = channel();
    (Interpreters { roster: Arc::default(), notices, out }, send, readings)
}

#[test]
fn nothing_is_looked_at_while_nothing_is_due() {
    let (interpreters, _notices, _readings) = interpreters();
    let began = monotonic_ns();
    assert!(interpreters.rest(&mut Processes::default(), &mut Urgency::new(), 0));
    assert!(monotonic_ns() - began >= REST);
}

#[test]
fn a_notice_ends_the_rest_but_not_the_pause() {
    let (interpreters, notices, _readings) = interpreters();
    let mut processes = Processes::default();
    notices.send(Notice::Mapped(7)).unwrap();
    let earliest = monotonic_ns() + 30 * MILLISECOND;
    assert!(interpreters.rest(&mut processes, &mut Urgency::new(), earliest));
    assert!(monotonic_ns() >= earliest);
    assert!(matches!(processes.known.get(&7), Some(Process::Unknown { due: 0, .. })));
}

#[test]
fn the_end_comes_before_what_is_due_and_before_the_pause_is_over() {
    let (interpreters, notices, _readings) = interpreters();
    let mut processes = Processes::default();
    notices.send(Notice::Mapped(7)).unwrap();
    notices.send(Notice::Stop).unwrap();
    assert!(!interpreters.rest(&mut processes, &mut Urgency::new(), u64::MAX));
    drop(notices);
    assert!(
        !interpreters.rest(&mut processes, &mut Urgency::new(), u64::MAX),
        "nobody is left to say it"
    );
}

#[test]
fn what_is_asked_for_after_the_end_is_answered() {
    let (interpreters, notices, _readings) = interpreters();
    notices.send(Notice::Stop).unwrap();
    let place = ManagedPlace::Interpreted { method: 1, bytecode: 2 };
    let answers = interpreters.run();
    notices.send(Notice::Asked(CodeRequest { pid: 7, place })).unwrap();
    assert!(answers.read().is_empty(), "nothing is known of the process");
}

#[test]
fn a_process_that_takes_the_whole_round_does_not_keep_others_from_being_read() {
    let counts: Vec<Arc<AtomicUsize>> = (0..3).map(|_| Arc::default()).collect();
    let reader = |count: &Arc<AtomicUsize>| Process::Read(Box::new(Slow(Arc::clone(count))));
    let known = counts.iter().enumerate();
    let known = known.map(|(pid, count)| (i32::try_from(pid).unwrap() + 1, reader(count)));
    let mut processes = Processes { known: known.collect(), ..Processes::default() };
    for _ in 0..3 {
        processes.read(&mut Vec::new());
    }
    for count in counts {
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn only_what_stays_as_it_is_is_told_of_an_interpreter() {
    let trouble = |reason| {
        let (what, address) = ("a frame", 8);
        Trouble::of(&InterpreterError::Memory { what, address, reason }, "/usr/bin/python3")
    };
    assert!(matches!(trouble(Unreadable::Ended), Trouble::Later(_)));
    assert!(matches!(trouble(Unreadable::Denied), Trouble::Never(_)));
}
