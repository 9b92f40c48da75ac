//! Ruby and PHP programs by their own functions, with nothing asked of the user.

use culprit_model::Recording;

use crate::support::{Lab, program, skip, stderr, stdout};

/// Each kind of wait three calls deep; a comment names the line that it passes in. Time on a CPU is a matter of
/// statistics: samples take the functions that were read nearest to them.
const RUBY: &str = r#"
LONG = 0.5

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def spin
  stop = now + LONG
  sum = 0
  while now < stop
    sum += 1 while sum % 100_000 != 99_999
    sum += 1
  end
end

def compute
  [1].each { spin }
end

def pause
  system('sleep', LONG.to_s) # in pause
end

def rest
  pause
end

class Client
  def receive(from)
    from.sysread(1) # in receive
  end
end

def drain
  here, there = IO.pipe
  writer = spawn('sleep 0.5; echo x', out: there)
  there.close
  Client.new.receive(here)
  Process.wait(writer)
end

def main
  compute
  rest
  drain
end

main
"#;

const PHP: &str = r#"<?php
const LONG = 500000;

function spin(): void
{
    $stop = microtime(true) + LONG / 1e6;
    while (microtime(true) < $stop) {
        for ($i = 0; $i < 10000; $i++) { $j = $i * 3 % 7; }
    }
}

function compute(): void
{
    array_map(function ($each) { spin(); }, [1]);
}

function pause(): void
{
    usleep(LONG); // in pause
}

function rest(): void
{
    pause();
}

class Client
{
    public function receive($from): void
    {
        fgets($from); // in Client::receive
    }
}

function drain(): void
{
    $from = popen('sleep 0.5; echo x', 'r');
    (new Client())->receive($from);
    pclose($from);
}

function main(): void
{
    compute();
    rest();
    drain();
}

main();
"#;

/// The functions of a wait, the outermost first.
type Part = &'static [&'static str];

const RUBY_PARTS: [Part; 2] =
    [&["<main>", "main", "rest", "pause"], &["<main>", "main", "drain", "receive"]];
const PHP_PARTS: [Part; 2] =
    [&["{main}", "main", "rest", "pause"], &["{main}", "main", "drain", "Client::receive"]];

/// The program's own functions of each wait, the outermost first, and the line.
fn own_functions(recording: &Recording, script: &str) -> Vec<(Vec<String>, u32)> {
    let of_script = |row: &culprit_model::Interval| {
        let frames = row.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let frames = frames.map(|frame| recording.frame(frame));
        let own = frames.filter(|f| f.file.as_ref().is_some_and(|f| f.as_str() == script));
        let mut own: Vec<_> = own.collect();
        own.reverse();
        let line = own.last().and_then(|frame| frame.line).unwrap_or_default();
        let name = |name: &str| match name.strip_prefix("{closure") {
            // From PHP 8.4 on, closures say where they are.
            Some(_) => "{closure}".to_owned(),
            None => name.to_owned(),
        };
        (own.iter().map(|frame| name(&frame.function)).collect(), line)
    };
    let mut all: Vec<_> =
        recording.intervals.iter().filter(|row| row.cause.is_blocked()).map(of_script).collect();
    all.sort();
    all.dedup();
    all
}

fn check(lab: &Lab, interpreter: &str, (name, source): (&str, &str), parts: &[Part]) {
    std::fs::write(lab.path(name), source).unwrap();
    let script = lab.path(name).to_string_lossy().into_owned();
    let file = format!("{name}.culprit");
    let output = lab.record(&file, &[interpreter, &script]);
    let recording = culprit_recording::open(lab.path(&file)).unwrap().recording;
    let found = own_functions(&recording, &script);
    for functions in parts {
        let mark = format!(" in {}", functions[functions.len() - 1]);
        let line =
            source.lines().position(|line| line.ends_with(&mark)).expect("a marked line") + 1;
        let passes = found.iter().any(|(names, at)| names == functions && *at as usize == line);
        assert!(passes, "{functions:?}: {found:?}\n{}", stderr(&output));
    }
    let inc = format!("{name}!pause");
    let tree = lab.culprit().args(["tree", &file, "--inc", &inc]).output().unwrap();
    assert!(stdout(&tree).contains(&format!("{name}!rest")), "{}", stdout(&tree));
}

fn runs(interpreter: &str) -> bool {
    program(interpreter).arg("-v").output().is_ok_and(|output| output.status.success())
}

#[test]
fn waits_of_ruby_are_in_its_own_functions() {
    if !runs("ruby") {
        return skip("waits_of_ruby_are_in_its_own_functions", "ruby");
    }
    check(&Lab::new(), "ruby", ("app.rb", RUBY), &RUBY_PARTS);
}

#[test]
fn waits_of_php_are_in_its_own_functions() {
    if !runs("php") {
        return skip("waits_of_php_are_in_its_own_functions", "php");
    }
    check(&Lab::new(), "php", ("app.php", PHP), &PHP_PARTS);
}
