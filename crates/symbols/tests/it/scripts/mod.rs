//! The frames of real Ruby and PHP programs: what is read from outside, against what the programs say
//! of themselves.

mod open;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use culprit_symbols::runtimes::{FunctionId, InterpretedFrame, InterpretedFunction, Look};
use culprit_testkit::{program, skip, wait_until};

use crate::python::live::{self, LiveMemory};

/// Interpreters that are tried, each where it is installed.
const RUBIES: [&str; 7] =
    ["ruby", "ruby2.7", "ruby3.0", "ruby3.1", "ruby3.2", "ruby3.3", "ruby3.4"];
const PHPS: [&str; 7] = ["php", "php7.4", "php8.0", "php8.1", "php8.2", "php8.3", "php8.4"];

/// A running program; killed when dropped.
struct Running {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Running {
    fn start(interpreter: &str, script: &str) -> Self {
        let mut command = program(interpreter);
        let script = format!("{}/tests/it/programs/{script}", env!("CARGO_MANIFEST_DIR"));
        // A debugger of PHP that is installed takes over each call.
        command.arg(script).env("PHP_INI_SCAN_DIR", "");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the interpreter answered before");
        let requests = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, requests, answers }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("UTF-8");
        assert!(!line.is_empty(), "the program ended");
        line.trim_end().to_owned()
    }

    /// What the program says of its threads: their frames by their names, the outermost first.
    fn stacks(&mut self) -> BTreeMap<String, Vec<String>> {
        self.requests.write_all(b"show\n").expect("it listens");
        let (mut stacks, mut name) = (BTreeMap::new(), String::new());
        loop {
            let line = self.line();
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["end"] => return stacks,
                ["thread", thread, state] => {
                    name = format!("{thread} {state}");
                    stacks.insert(name.clone(), Vec::new());
                }
                _ => stacks.entry(name.clone()).or_default().push(line),
            }
        }
    }

    /// The numbers of the process's threads by their names, of which the kernel keeps 15 letters.
    fn threads(&self) -> Vec<(String, u32)> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let thread = |task: std::fs::DirEntry| {
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            Some((name.trim_end().to_owned(), task.file_name().to_str()?.parse().ok()?))
        };
        tasks.expect("it runs").flatten().filter_map(thread).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The installed interpreters, each release once.
fn installed(test: &str, names: &[&'static str], arguments: &[&str]) -> Vec<&'static str> {
    let (mut releases, mut found) = (Vec::new(), Vec::new());
    for name in names {
        let Ok(release) = crate::programs::run(name, arguments) else { continue };
        if !releases.contains(&release) {
            releases.push(release);
            found.push(*name);
        }
    }
    if found.is_empty() {
        skip(test, names[0]);
    }
    found
}

/// One line a function, `NAME<tab>FILE<tab>LINE`. A function written in C is at its caller's line.
/// Entries are left out.
fn texts<'f>(
    frames: &[InterpretedFrame],
    function: impl Fn(FunctionId) -> Option<&'f InterpretedFunction>,
) -> Vec<String> {
    let mut place = String::new();
    let text = |frame: &InterpretedFrame| {
        let InterpretedFrame::Function { function: id, line } = frame else { return None };
        let known = function(*id).expect("a known function");
        if let Some(file) = &known.file {
            let line = line.map_or_else(|| "?".to_owned(), |line| line.to_string());
            place = format!("{file}\t{line}");
        }
        Some(format!("{}\t{place}", known.name))
    };
    frames.iter().filter_map(text).collect()
}

#[test]
fn waiting_threads_of_ruby_are_read_as_ruby_shows_them() {
    let test = "waiting_threads_of_ruby_are_read_as_ruby_shows_them";
    for interpreter in installed(test, &RUBIES, &["-e", "print RUBY_VERSION"]) {
        let mut program = Running::start(interpreter, "blocked.rb");
        let mut said = program.stacks();
        wait_until("all threads wait", || {
            let before = std::mem::replace(&mut said, program.stacks());
            before == said
                && said.keys().all(|name| name.contains("sleep"))
                && said.keys().all(|name| {
                    let name: String = name.split(' ').next().into_iter().collect();
                    let short: String = name.chars().take(15).collect();
                    program.threads().iter().any(|(known, _)| *known == short)
                })
        });
        for by_symbols in [true, false] {
            let pid = program.process.id();
            let (mut ruby, _) = open::ruby(pid, by_symbols).expect("an interpreter");
            for (name, stack) in &said {
                let name: String = name.split(' ').next().into_iter().collect();
                let short: String = name.chars().take(15).collect();
                let threads = program.threads();
                let (_, tid) = threads.iter().find(|(known, _)| *known == short).expect("named");
                let mut frames = Vec::new();
                let look = ruby.look_at(&LiveMemory(pid), *tid, &mut frames);
                assert_eq!(look, Ok(Some(Look::default())), "{interpreter}: {name}");
                let read = texts(&frames, |id| ruby.function(id));
                assert_eq!(&read, stack, "{interpreter}: {name}");
                assert_eq!(frames.first(), Some(&InterpretedFrame::Entry), "{interpreter}");
            }
            let mut frames = vec![InterpretedFrame::Entry];
            let look = ruby.look_at(&LiveMemory(pid), std::process::id(), &mut frames);
            assert_eq!((look, frames), (Ok(None), Vec::new()), "{interpreter}");
        }
    }
}

#[test]
fn a_waiting_php_program_is_read_as_it_was_called() {
    let test = "a_waiting_php_program_is_read_as_it_was_called";
    for interpreter in installed(test, &PHPS, &["-r", "echo PHP_VERSION;"]) {
        let mut program = Running::start(interpreter, "blocked.php");
        assert_eq!(program.line(), "ready", "{interpreter}");
        let pid = program.process.id();
        let mut php = open::php(pid).expect("an interpreter");
        let (mut frames, mut read) = (Vec::new(), Vec::new());
        wait_until("it waits", || {
            let look = php.look(&LiveMemory(pid), &mut frames);
            read = texts(&frames, |id| php.function(id));
            look == Ok(Look::default()) && read.last().is_some_and(|at| at.starts_with("fgets\t"))
        });
        let short = |text: &String| {
            let text = text.replace(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/"), "");
            // From 8.4 on, closures say where they are.
            let text = text.replace("{closure:Orders::parse():7}", "{closure}");
            text.replace('\t', " ")
        };
        let read: Vec<String> = read.iter().map(short).collect();
        let expected = [
            "{main} blocked.php 39",
            "main blocked.php 36",
            "Orders::parse blocked.php 7",
            "array_map blocked.php 7",
            "Orders::{closure} blocked.php 9",
            "Lines::__call blocked.php 24",
            "Lines::wait blocked.php 30",
            "{main} blocked.php(30) : eval()'d code 2",
            "fgets blocked.php(30) : eval()'d code 2",
        ];
        assert_eq!(read, expected, "{interpreter}");
        let entries = frames.iter().filter(|frame| **frame == InterpretedFrame::Entry);
        // The script, and the closure that a function in C calls.
        assert_eq!(entries.count(), 2, "{interpreter}: {frames:?}");
    }
}
