//! What cannot be recorded is said before anything starts.

use culprit_model::Pid;
use culprit_record::{Error, Options, Target, Waiting, plan};

use crate::support::output;

#[test]
fn a_process_that_does_not_exist_is_named() {
    // One above what the kernel ever gives out.
    let missing = Pid(4_194_305);
    let plan = plan(Options::new(Target::Processes(vec![missing]), output("missing")));
    let error = plan.expect("planning looks at rights").arm(Waiting::default());
    let error = error.expect_err("it does not exist");
    assert!(matches!(error, Error::NoSuchProcess(pid) if pid == missing), "{error}");
    assert_eq!(error.to_string(), "process 4194305 does not exist");
}

#[test]
fn a_cgroup_that_does_not_exist_is_named() {
    let target = Target::Cgroup("/no/such/cgroup".into());
    match plan(Options::new(target, output("no-cgroup"))) {
        Err(error) => eprintln!("skipped: no-cgroup: {error}"),
        Ok(plan) => {
            let error = plan.arm(Waiting::default()).expect_err("it does not exist");
            assert!(error.to_string().contains("/no/such/cgroup"), "{error}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_before_the_start() {
    let options = Options::new(Target::Command, "/proc/no-such-folder/x.culprit");
    let error = plan(options).expect("rights are enough").arm(Waiting::default());
    assert!(matches!(error, Err(Error::Write(_))), "{error:?}");
}
