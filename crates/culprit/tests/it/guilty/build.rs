//! Builds the programs of the fixtures, each as its users would.

use std::path::{Path, PathBuf};
use std::process::Child;

use super::truth::{Group, Program};
use crate::support::{program, stdout};

/// How many compilers run side by side.
const COMPILERS: usize = 8;

/// A program's source.
pub(crate) struct Source {
    path: PathBuf,
    /// What its compiler is told, where that is the program's own matter.
    flags: Option<String>,
}

impl Source {
    /// A program whose source stands at `path`.
    pub(crate) fn at(path: PathBuf, program: &Program) -> Self {
        let own = program.group == Group::Unseen;
        Self { path, flags: own.then(|| program.flags.clone().unwrap_or_default()) }
    }
}

/// The commands that run programs, built into a folder side by side where they must be; none where
/// this machine lacks the compiler or interpreter.
pub(crate) fn commands(folder: &Path, sources: &[Source]) -> Vec<Option<Vec<String>>> {
    let finish = |(source, build): (&Source, Build)| match build {
        Build::None => None,
        Build::Done(command) => Some(command),
        Build::Running(mut compiler, command) => {
            let status = compiler.wait().expect("a compiler");
            assert!(status.success(), "{} does not compile", source.path.display());
            Some(command)
        }
    };
    let some = |sources: &[Source]| -> Vec<_> {
        let started: Vec<_> = sources.iter().map(|source| start(folder, source)).collect();
        sources.iter().zip(started).map(finish).collect()
    };
    sources.chunks(COMPILERS).flat_map(some).collect()
}

/// How far a program is from being run.
enum Build {
    /// Its compiler or interpreter is missing.
    None,
    /// Nothing is left to do: the command.
    Done(Vec<String>),
    /// Its compiler, and the command that runs what it writes.
    Running(Child, Vec<String>),
}

/// The JVM, told to keep frame pointers and to write down what it compiled.
const JAVA: [&str; 4] = [
    "java",
    "-XX:+PreserveFramePointer",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+DumpPerfMapAtExit",
];

/// Node.js, told to write down what it compiled, and to have a frame of its own for each function that
/// it interprets.
const NODE: [&str; 3] = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack"];

fn start(folder: &Path, source: &Source) -> Build {
    let path = source.path.display().to_string();
    let name = source.path.file_name().expect("a name").to_string_lossy().replace('.', "_");
    let built = folder.join(&name).display().to_string();
    let own = source.flags.as_deref().map(|flags| flags.split_whitespace().collect::<Vec<_>>());
    let flags = |usual: &[&'static str]| own.clone().unwrap_or_else(|| usual.to_vec());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let c = flags(&["-O2", "-g", "-fno-omit-frame-pointer", "-pthread"]);
    let (tool, flags) = match source.path.extension().and_then(|e| e.to_str()) {
        Some("sh") if own.is_some() => return Build::Done(words(&["bash", &path])),
        Some("sh") => return Build::Done(words(&["sh", &path])),
        Some("mjs" | "cjs") => {
            let version = program("node").arg("--version").output();
            let command = || Build::Done(words(&[&NODE[..], &[&path]].concat()));
            return version.map_or(Build::None, |_| command());
        }
        Some("py") => {
            return python().map_or(Build::None, |python| Build::Done(vec![python, path]));
        }
        Some("c") => ("cc", c),
        Some("cc") => ("c++", c),
        Some("rs") => ("rustc", flags(&["-O", "-g", "-C", "force-frame-pointers=yes"])),
        Some("go") => ("go", vec!["build"]),
        Some("java") => ("javac", Vec::new()),
        other => panic!("{other:?}: no program of the fixtures"),
    };
    let command = match tool {
        "javac" => {
            let text = std::fs::read_to_string(&source.path).expect("a source");
            let told = text.lines().next().and_then(|line| line.strip_prefix("// flags: "));
            let told: Vec<_> = told.into_iter().flat_map(str::split_whitespace).collect();
            let class = if own.is_some() { &name[..name.len() - "_java".len()] } else { "Main" };
            words(&[&JAVA[..], &told, &["-cp", &built, class]].concat())
        }
        _ => vec![built.clone()],
    };
    let output = if tool == "javac" { "-d" } else { "-o" };
    let libraries: &[&str] = if matches!(tool, "cc" | "c++") { &["-lm"] } else { &[] };
    let mut compiler = program(tool);
    compiler.args(flags).args([output, &built, &path]).args(libraries);
    compiler.spawn().map_or(Build::None, |compiler| Build::Running(compiler, command))
}

/// The interpreter itself: `python3` may be a script that looks for it.
fn python() -> Option<String> {
    let asked = program("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    Some(stdout(&asked.ok()?).trim().to_owned()).filter(|path| !path.is_empty())
}
