//! Programs of language runtimes, recorded with nothing asked of the user: their functions have names.

use culprit_model::{Frame, Recording};

use crate::runtime_names::cache;
use crate::support::{Lab, all_rights, program, skip, stderr, stdout};

/// It works for as long as a few hundred samples take, and says what it was given.
const NODE: &str = "\
function hashRows(n) {
  let hash = 0;
  for (let i = 0; i < n; i++) { hash = (hash * 31 + i * i) | 0; }
  return hash;
}
function work(until) {
  let sum = 0;
  while (Date.now() < until) { sum ^= hashRows(20000); }
  return sum;
}
console.log(process.pid, process.env.NODE_OPTIONS);
work(Date.now() + 400);
";

/// Where the functions stand.
const HASH_ROWS: u32 = 1;
const WORK: u32 = 6;

const JAVA: &str = "\
public class Rows {
  static int hash(int n) {
    int hash = 0;
    for (int i = 0; i < n; i++) hash = hash * 31 + i * i;
    return hash;
  }
  static int work(long until) {
    int sum = 0;
    while (System.nanoTime() < until) sum ^= hash(20000);
    return sum;
  }
  public static void main(String[] args) {
    System.out.println(ProcessHandle.current().pid() + \" \" + System.getenv(\"JAVA_TOOL_OPTIONS\"));
    System.out.flush();
    long forHowLong = args.length > 0 ? Long.MAX_VALUE / 4 : 1_500_000_000L;
    System.exit(work(System.nanoTime() + forHowLong) == 7 ? 1 : 0);
  }
}
";

/// A lab for a test that needs all rights and this program; none with the reason printed.
fn lab(test: &str, needed: &str) -> Option<Lab> {
    if !all_rights() {
        skip(test, "recording everything takes root");
        return None;
    }
    if program(needed).arg("--version").output().is_err() {
        skip(test, &format!("`{needed}` is not installed"));
        return None;
    }
    Some(Lab::new())
}

fn with_node(test: &str) -> Option<Lab> {
    let lab = lab(test, "node")?;
    std::fs::write(lab.path("rows.cjs"), NODE).unwrap();
    Some(lab)
}

fn with_java(test: &str) -> Option<Lab> {
    let lab = lab(test, "javac")?;
    std::fs::write(lab.path("Rows.java"), JAVA).unwrap();
    let compiled = program("javac").arg(lab.path("Rows.java")).status().unwrap();
    assert!(compiled.success());
    Some(lab)
}

fn recording(lab: &Lab) -> Recording {
    culprit_recording::open(lab.path("x.culprit")).unwrap().recording
}

/// The stacks of samples as names, root first.
fn stacks<'a>(
    recording: &'a Recording,
    name: &'a dyn Fn(&Frame) -> String,
) -> impl Iterator<Item = Vec<String>> + 'a {
    let stacks = recording.samples.iter().filter_map(|sample| sample.stack);
    stacks.map(move |stack| {
        let frames = recording.stack(stack).map(|id| name(recording.frame(id)));
        let mut frames: Vec<String> = frames.collect();
        frames.reverse();
        frames
    })
}

/// Whether these follow each other, root first, in some stack of a sample.
fn has_path(recording: &Recording, name: &dyn Fn(&Frame) -> String, path: &[&str]) -> bool {
    let follows = |stack: Vec<String>| {
        let mut at = stack.iter();
        path.iter().all(|wanted| at.any(|has| has == wanted))
    };
    stacks(recording, name).any(follows)
}

/// `FUNCTION FILE:LINE` with the file's base name.
fn with_place(frame: &Frame) -> String {
    let file = frame.file.as_deref().unwrap_or_default();
    let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {}{line}", frame.function, file.rsplit('/').next().unwrap_or_default())
}

fn function(frame: &Frame) -> String {
    frame.function.to_string()
}

/// What a program of ours printed first: its number, and the variable that it was given.
fn printed(text: &str) -> (String, String) {
    let line = text.lines().next().unwrap_or_default();
    let (pid, variable) = line.split_once(' ').unwrap_or((line, ""));
    (pid.to_owned(), variable.to_owned())
}

fn map_of(pid: &str) -> std::path::PathBuf {
    format!("/tmp/perf-{pid}.map").into()
}

#[test]
fn functions_of_node_have_file_and_line_and_nothing_is_left() {
    let Some(lab) = with_node("names of Node.js") else { return };
    let mut culprit = lab.culprit();
    culprit.args(["record", "-o", "x.culprit", "--", "node", "rows.cjs"]);
    culprit.env("NODE_OPTIONS", "--max-old-space-size=512");
    let output = culprit.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (pid, variable) = printed(&stdout(&output));
    assert!(variable.starts_with("--max-old-space-size=512 --perf-basic-prof"), "{variable}");
    assert!(!map_of(&pid).exists(), "the map was made because of us");
    // V8 writes a log for each thread of JavaScript there.
    let left = std::fs::read_dir(lab.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["rows.cjs", "x.culprit"]);
    let recording = recording(&lab);
    let path = [format!("work rows.cjs:{WORK}"), format!("hashRows rows.cjs:{HASH_ROWS}")];
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    assert!(has_path(&recording, &with_place, &path), "{:?}", recording.losses);
    let module = recording.modules.iter().find(|module| module.name.as_str() == "rows.cjs");
    assert!(module.is_some_and(|module| module.path.ends_with("/rows.cjs")), "{module:?}");
    let report = lab.json(&["report", "x.culprit"]);
    assert_eq!(report["runtimes"][0]["runtime"], "node");
    assert!(report["runtimes"][0]["set"].as_str().unwrap().contains("--perf-basic-prof"));
    let report = stdout(&lab.culprit().args(["report", "x.culprit"]).output().unwrap());
    assert!(report.contains("Culprit set NODE_OPTIONS so that"), "{report}");
}

#[test]
fn a_map_that_the_user_asked_for_stays() {
    let Some(lab) = with_node("the user's map") else { return };
    let mut culprit = lab.culprit();
    culprit.args(["record", "-o", "x.culprit", "--", "node", "rows.cjs"]);
    culprit.env("NODE_OPTIONS", "--perf-basic-prof");
    let output = culprit.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (pid, variable) = printed(&stdout(&output));
    assert_eq!(variable, "--perf-basic-prof --interpreted-frames-native-stack");
    assert!(map_of(&pid).exists(), "it is the user's");
    std::fs::remove_file(map_of(&pid)).unwrap();
}

#[test]
fn without_help_nothing_is_set() {
    let Some(lab) = with_node("--no-runtime-help") else { return };
    let mut culprit = lab.culprit();
    culprit.args(["record", "--no-runtime-help", "-o", "x.culprit", "--", "node", "rows.cjs"]);
    culprit.env_remove("NODE_OPTIONS");
    let output = culprit.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(printed(&stdout(&output)).1, "undefined");
    let report = lab.json(&["report", "x.culprit"]);
    assert!(report["runtimes"][0]["set"].is_null(), "{report}");
    assert_eq!(report["runtimes"][0]["reason"], "`--no-runtime-help` was given");
}

#[test]
fn functions_in_the_sandbox_have_names_too() {
    let Some(lab) = with_node("names in the sandbox") else { return };
    let mut culprit = lab.culprit();
    let record = ["record", "--place", "sandbox", "-o", "x.culprit", "--", "node", "rows.cjs"];
    let output = culprit.args(record).output().unwrap();
    if !output.status.success() && stderr(&output).contains("overlay") {
        return skip("names in the sandbox", "the kernel refuses an overlay");
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let recording = recording(&lab);
    let hash_rows = format!("hashRows rows.cjs:{HASH_ROWS}");
    assert!(has_path(&recording, &with_place, &[&hash_rows]), "{:?}", recording.losses);
}

#[test]
fn methods_of_java_have_names_and_the_line_on_stderr_is_explained() {
    let Some(lab) = with_java("names of Java") else { return };
    let mut culprit = lab.culprit();
    culprit.args(["record", "-o", "x.culprit", "--", "java", "-cp", ".", "Rows"]);
    culprit.env("JAVA_TOOL_OPTIONS", "-Xmx64m");
    let output = culprit.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (pid, variable) = printed(&stdout(&output));
    assert!(variable.starts_with("-Xmx64m -XX:+IgnoreUnrecognizedVMOptions"), "{variable}");
    assert!(!map_of(&pid).exists(), "the map was made because of us");
    let said = stderr(&output);
    assert_eq!(said.matches("The JVM printed `Picked up JAVA_TOOL_OPTIONS`").count(), 1, "{said}");
    let recording = recording(&lab);
    // The compiler may have put one into the other.
    let one =
        ["Rows.hash", "Rows.work"].iter().any(|name| has_path(&recording, &function, &[name]));
    assert!(one, "{:?}", recording.losses);
}

#[test]
fn a_jvm_that_is_killed_has_names_or_the_recording_says_so() {
    let Some(lab) = with_java("a killed JVM") else { return };
    let script = "java -cp . Rows forever | { read -r pid rest; kill -9 \"$pid\"; cat; }; exit 0";
    lab.record("x.culprit", &["sh", "-c", script]);
    let recording = recording(&lab);
    // It writes no map, and ends within moments: what was not read from its memory by then is told.
    let named = ["Rows.hash", "Rows.work", "Rows.main"]
        .iter()
        .any(|name| has_path(&recording, &function, &[name]));
    let losses = &recording.losses;
    let is_told = |loss: &culprit_model::Loss| {
        loss.detail.starts_with("JVM in process")
            || loss.kind == culprit_model::LossKind::InterpreterFramesMissing
    };
    assert!(named || losses.iter().any(is_told), "{losses:?}");
}

#[test]
fn methods_in_a_programs_own_file_have_names_and_nothing_is_left() {
    const TEST: &str = "names of a .NET program in one file";
    let program = cache().join("dotnet-single/Sarif.Multitool");
    if !program.exists() {
        return skip(TEST, "scripts/test-runtimes fetches it");
    }
    let program = program.to_str().expect("UTF-8");
    let Some(lab) = lab(TEST, program) else { return };
    let mut culprit = lab.culprit();
    culprit.args(["record", "-o", "x.culprit", "--", program, "version"]);
    // Without a library for languages it would end at once.
    culprit.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    let output = culprit.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let recording = recording(&lab);
    let library = format!("{program}/System.Private.CoreLib.dll");
    let precompiled = |frame: &Frame| {
        let module = frame.module.map(|module| recording.module(module));
        let of_library = module.is_some_and(|module| module.path.as_str() == library);
        of_library && frame.function.starts_with("System.")
    };
    assert!(recording.frames.iter().any(precompiled), "{:?}", recording.losses);
    // The runtime compiles this one itself; its line is in the PDB beside the program.
    let main = |frame: &Frame| {
        let file = frame.file.as_deref().unwrap_or_default();
        frame.function.ends_with("Program.Main") && file.ends_with("/Program.cs")
    };
    assert!(recording.frames.iter().any(main), "{:?}", recording.losses);
    let root = recording.process(recording.meta.root_process.expect("the command"));
    for left in ["perf-PID.map", "perfinfo-PID.map", "jit-PID.dump"] {
        let left = format!("/tmp/{}", left.replace("PID", &root.pid.to_string()));
        assert!(!std::path::Path::new(&left).exists(), "{left} was made because of us");
    }
}
