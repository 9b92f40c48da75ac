//! A program that exists only in an image, recorded until after its container is gone.

use culprit_model::{MarkKind, Rung};

use crate::support::{compiled, names, record_in, stands_on, tool};

/// An image that holds one static program; removed at the end.
struct Image(String);

impl Image {
    fn of(program: &str) -> Option<Self> {
        if !culprit_testkit::engine_answers() {
            eprintln!("skipped: container: no container engine answers");
            return None;
        }
        let name = format!("culprit-record-test-{}:1", std::process::id());
        let script = format!(
            "tar -C $(dirname {program}) -c $(basename {program}) | docker import - {name}"
        );
        let imported = tool("sh", &["-c", &script]);
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        Some(Self(name))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        tool("docker", &["rmi", "-f", &self.0]);
    }
}

/// The frames of each sample of the program, from when the engine executed it; none where that cannot be
/// recorded.
fn frames_of_the_program(test: &str) -> Option<Vec<Vec<String>>> {
    let flags = ["-static", "-fno-omit-frame-pointer"];
    let image = Image::of(&compiled("../../fixtures/named/named.c", "named", &flags))?;
    let place = format!("docker:{}", image.0);
    let recording = record_in(&place, test, &["/named", "1"], |_| {}).recording;
    if !stands_on(test, &recording, Rung::KernelStacks) {
        return None;
    }
    let process = recording.processes.iter().find(|row| row.exe.as_str() == "/named");
    assert!(process.is_some_and(|row| row.end.is_some()), "{:?}", recording.processes);
    // Before it was the engine's own helper, which sets the container up.
    let mut execs = recording.marks.iter().filter(|mark| mark.kind == MarkKind::Exec);
    let exec = execs.find(|mark| mark.text.as_str() == "/named").expect("the engine executes it");
    let own = recording.samples.iter().filter(|row| {
        let process = recording.thread(row.thread).process;
        recording.process(process).exe.as_str() == "/named" && row.time > exec.time
    });
    let stacks = own.filter_map(|row| row.stack);
    Some(stacks.map(|stack| names(&recording, stack)).collect())
}

#[test]
fn a_program_of_an_image_is_named_after_its_container_is_gone() {
    let Some(stacks) = frames_of_the_program("image") else { return };
    let whole = |stack: &&Vec<String>| {
        let functions = ["named!churn_numbers", "named!handle_request", "named!main"];
        functions.iter().all(|function| stack.iter().any(|name| name == function))
    };
    assert!(stacks.iter().any(|stack| whole(&stack)), "{stacks:?}");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn nearly_all_frames_of_a_container_that_is_gone_have_names() {
    let Some(stacks) = frames_of_the_program("image-all") else { return };
    assert!(stacks.len() > 100, "{} samples", stacks.len());
    let (all, named) = stacks
        .iter()
        .flatten()
        .fold((0, 0), |(all, named), name| (all + 1, named + usize::from(!name.ends_with("!?"))));
    let unnamed = stacks.iter().find(|stack| stack.iter().any(|name| name.ends_with("!?")));
    assert!(named * 100 >= all * 99, "{named} of {all} frames have names, {unnamed:?} not");
}
