//! A program that exists only in an image, recorded until after its container is gone.

use culprit_model::{MarkKind, Rung};

use crate::support::{compiled, folder, names, record_in, stands_on, tool};

/// An image that holds one static program; removed at the end.
struct Image(String);

impl Image {
    fn of(program: &str) -> Option<Self> {
        if !tool("sh", &["-c", "command -v docker && docker version"]).status.success() {
            eprintln!("skipped: container: no container engine answers");
            return None;
        }
        let name = format!("culprit-record-test-{}:1", std::process::id());
        let folder = folder().to_string_lossy().into_owned();
        let script = format!("tar -C {folder} -c {program} | docker import - {name}");
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

#[test]
fn a_program_of_an_image_is_named_after_its_container_is_gone() {
    compiled("../../fixtures/named/named.c", "named", &["-static", "-fno-omit-frame-pointer"]);
    let Some(image) = Image::of("named") else { return };
    let place = format!("docker:{}", image.0);
    let recording = record_in(&place, "image", &["/named", "1"], |_| {}).recording;
    if !stands_on("image", &recording, Rung::KernelStacks) {
        return;
    }
    let process = recording.processes.iter().find(|row| row.exe.as_str() == "/named");
    assert!(process.is_some_and(|row| row.end.is_some()), "{:?}", recording.processes);
    // Before it was the engine's own helper, which sets the container up.
    let from = recording
        .marks
        .iter()
        .find(|mark| mark.kind == MarkKind::Exec && mark.text.as_str() == "/named")
        .expect("the engine executes it")
        .time;
    let stacks: Vec<_> = recording
        .samples
        .iter()
        .filter(|row| {
            recording.process(recording.thread(row.thread).process).exe.as_str() == "/named"
        })
        .filter(|row| row.time > from)
        .filter_map(|row| row.stack)
        .collect();
    assert!(stacks.len() > 100, "{} samples", stacks.len());
    let frames: Vec<String> = stacks.iter().flat_map(|stack| names(&recording, *stack)).collect();
    let named = frames.iter().filter(|name| !name.ends_with("!?")).count();
    let unnamed = stacks
        .iter()
        .map(|stack| names(&recording, *stack))
        .find(|stack| stack.iter().any(|name| name.ends_with("!?")));
    let all = frames.len();
    assert!(named * 100 >= all * 99, "{named} of {all} frames have names, {unnamed:?} not");
    assert!(frames.iter().any(|name| name == "named!churn_numbers"));
}
