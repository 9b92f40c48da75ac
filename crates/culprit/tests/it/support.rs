//! Running `culprit` and the programs under `fixtures/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) use culprit_testkit::{
    all_rights, alone, engine_answers, program, skip, stderr, stdout, wait_until,
};
use serde_json::Value;
use tempfile::TempDir;

/// A folder of the test's own, on a disk (a memory file system has no disk waits), and programs
/// built into it.
#[derive(Debug)]
pub(crate) struct Lab {
    folder: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("culprit-test-").tempdir_in("/var/tmp");
        Self { folder: folder.expect("a folder on a disk") }
    }

    /// As [`Lab::new`], with a name that is the same on every machine: recordings that are kept have it
    /// in them.
    pub(crate) fn named(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(name).rand_bytes(0).tempdir_in("/var/tmp");
        let remedy = "an earlier run was killed, or another one goes on: remove its folder";
        Self { folder: folder.expect(remedy) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `culprit ARGUMENTS`, in this folder, without the caller's settings.
    pub(crate) fn culprit(&self) -> Command {
        let mut culprit = program(env!("CARGO_BIN_EXE_culprit"));
        culprit.current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CULPRIT_") {
                culprit.env_remove(name);
            }
        }
        culprit
    }

    /// Writes a drawn recording of the command `app` to `name`.
    pub(crate) fn draw(&self, name: &str, drawing: &str) {
        let mut recording = culprit_model::notation::parse(drawing).expect("a drawing");
        recording.meta.command = vec!["app".to_owned()];
        culprit_recording::write(self.path(name), &recording).expect("a recording");
    }

    /// Records a command to `name`; the command must succeed.
    pub(crate) fn record(&self, name: &str, command: &[&str]) -> Output {
        let output = self
            .culprit()
            .args(["record", "--force", "-o", name, "--"])
            .args(command)
            .output()
            .expect("culprit runs");
        assert!(output.status.success(), "{}", stderr(&output));
        output
    }

    /// `culprit ARGUMENTS --json` as a document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.culprit().args(arguments).arg("--json").output().expect("culprit runs");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }
}

/// Compiles a C program of `fixtures/` and returns its path.
pub(crate) fn build(source: &str, flags: &[&str]) -> PathBuf {
    build_from(&[source], flags)
}

/// Compiles a C program of several files of `fixtures/`, the first of which gives it its name.
pub(crate) fn build_from(sources: &[&str], flags: &[&str]) -> PathBuf {
    let sources: Vec<PathBuf> = sources.iter().map(|source| fixtures().join(source)).collect();
    let name = sources[0].file_stem().and_then(|stem| stem.to_str()).expect("a name");
    let paths: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
    let flags = [&["-O2", "-g", "-fno-omit-frame-pointer", "-pthread"], flags].concat();
    culprit_testkit::compiled_from("cc", &paths, name, &flags).expect("a C compiler")
}

/// The folder of test programs.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().expect("fixtures/")
}

/// An image of one test's own, because tests run side by side. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Image(pub(crate) String);

impl Image {
    /// An image that holds nothing but one program.
    pub(crate) fn make(lab: &Lab, test: &str) -> Self {
        let named = build("named/named.c", &["-static"]);
        Self::pack(lab, test, (named.parent().expect("a folder"), "named"))
    }

    /// An image of a folder's file, or of all with `.`.
    pub(crate) fn pack(lab: &Lab, test: &str, (folder, file): (&Path, &str)) -> Self {
        let name = format!("culprit-test-{test}-{}:1", std::process::id());
        let tar = lab.path("image.tar");
        let packed = program("tar").arg("-cf").arg(&tar).arg("-C").arg(folder).arg(file).status();
        assert!(packed.expect("tar").success());
        Self::import(&tar, name)
    }

    /// An image whose root folder is in a tar file.
    pub(crate) fn import(tar: &Path, name: String) -> Self {
        let imported =
            program("docker").arg("import").arg(tar).arg(&name).stdout(Stdio::null()).status();
        assert!(imported.expect("docker import").success());
        Self(name)
    }

    /// An image that stores a file twice, because its owner was changed after it was copied in; none
    /// without an engine.
    pub(crate) fn wasteful(lab: &Lab, test: &str) -> Option<Self> {
        if !engine_answers() {
            skip(test, "no container engine answers");
            return None;
        }
        let base = Self::make(lab, test);
        let name = format!("{}-wasteful", base.0);
        let context = lab.path("context");
        std::fs::create_dir(&context).expect("a folder");
        std::fs::write(context.join("table"), vec![1; 16 << 20]).expect("a file");
        let steps = format!("FROM {}\nCOPY table /table\nCOPY --chown=7:7 table /table\n", base.0);
        std::fs::write(context.join("Dockerfile"), steps).expect("a file");
        let mut build = program("docker");
        build.args(["build", "--network", "none", "-t", &name]).arg(&context);
        // The builder that every engine has, and whose layers are the instructions'.
        build.env("DOCKER_BUILDKIT", "0").stdout(Stdio::null()).stderr(Stdio::null());
        assert!(build.status().expect("docker build").success());
        Some(Self(name))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let removed = program("docker").args(["rmi", "-f", &self.0]).stdout(Stdio::null()).status();
        assert!(removed.is_ok_and(|status| status.success()), "the image is left");
    }
}

/// What a report says of records or stacks that were lost: a measurement may be repeated then.
pub(crate) fn disturbed(report: &Value) -> Option<String> {
    const KINDS: [&str; 5] = [
        "switches-lost",
        "samples-lost",
        "sampling-throttled",
        "stacks-missing",
        "accounting-differs",
    ];
    let losses = report["losses"].as_array()?.iter();
    let told: Vec<&str> = losses.filter_map(|loss| loss["id"].as_str()).collect();
    let told: Vec<&str> = told.into_iter().filter(|id| KINDS.contains(id)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// A number of a JSON document, where it must be one.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
