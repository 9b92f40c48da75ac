//! `culprit config prove` on random programs: how much of the truth it finds, and that it claims nothing false.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::runtime_names::cache;
use crate::support::{Lab, all_rights, fixtures, program, skip};

/// Random programs of each kind.
const PROGRAMS: u64 = 12;
const NAMES: [&str; 8] = [
    "QAX_HOST",
    "QAX_HOST_NAME",
    "QAX_PORT",
    "QAX",
    "QBX_LEVEL",
    "QBX_LEVEL_MIN",
    "Q",
    "QCX_LONG_NAME_OF_A_KEY",
];

/// A small generator of numbers, the same on every machine (xorshift64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

/// One kind of program: how it is started, and the ways in which it can read.
struct Kind {
    name: &'static str,
    command: Vec<String>,
    ways: &'static [&'static str],
}

fn source(name: &str) -> PathBuf {
    fixtures().join("prove").join(name)
}

fn kinds(lab: &Lab) -> Vec<Kind> {
    const C: &[&str] = &["get", "secure", "scan", "open", "first", "thread", "fork"];
    let mut kinds = Vec::new();
    let mut add = |name, command: Vec<String>, ways| kinds.push(Kind { name, command, ways });
    for (name, compiler, file, flags, ways) in [
        ("C, glibc", "cc", "reads.c", &["-O2", "-g", "-pthread"][..], C),
        ("C, static", "cc", "reads.c", &["-O2", "-static", "-pthread"], C),
        ("C, static, stripped", "cc", "reads.c", &["-O2", "-static", "-s", "-pthread"], C),
        ("C, musl", "musl-gcc", "reads.c", &["-O2", "-pthread"], C),
        ("Rust", "rustc", "reads.rs", &["-O", "-g"], &["get"]),
    ] {
        match culprit_testkit::compiled_from(compiler, &[&source(file)], "reads", flags) {
            Ok(path) => add(name, vec![path.to_str().unwrap().to_owned()], ways),
            Err(missing) => skip(name, &missing),
        }
    }
    let go = lab.path("reads-go").to_str().unwrap().to_owned();
    let classes = lab.path("classes").to_str().unwrap().to_owned();
    let builds: [(&str, Vec<&str>); 2] =
        [("go", vec!["build", "-o", &go]), ("javac", vec!["-d", &classes])];
    for ((tool, arguments), file) in builds.iter().zip(["reads.go", "Reads.java"]) {
        let built = program(tool).args(arguments).arg(source(file)).output();
        match built {
            Ok(output) if output.status.success() => {}
            _ => skip(tool, "the compiler"),
        }
    }
    if lab.path("reads-go").exists() {
        add("Go", vec![go], &["get"]);
    }
    if lab.path("classes").exists() {
        let words = ["java", "-cp", &classes, "Reads"].map(str::to_owned);
        add("Java", words.to_vec(), &["get"]);
    }
    for (name, version) in [(".NET 3.1", "3.1"), (".NET 8", "8")] {
        match dotnet(lab, version) {
            Ok(command) => add(name, command, &["get"]),
            Err(missing) => skip(".NET", &missing),
        }
    }
    for (name, tool, question, file, ways) in [
        (
            "Python",
            "python3",
            ["-c", "import sys; print(sys.executable)"],
            "reads.py",
            &["get"][..],
        ),
        ("Node.js", "node", ["-p", "process.execPath"], "reads.js", &["get"]),
    ] {
        let output = program(tool).args(question).output();
        let path =
            output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        match path.filter(|path| !path.is_empty()) {
            Some(path) => {
                let script = source(file).to_str().unwrap().to_owned();
                add(name, vec![path, script], ways);
            }
            None => skip(name, tool),
        }
    }
    kinds
}

/// The program in C# for a version of .NET, compiled by what `scripts/test-runtimes` fetches.
pub(crate) fn dotnet(lab: &Lab, version: &str) -> Result<Vec<String>, String> {
    let missing = || format!(".NET {version}: scripts/test-runtimes fetches it");
    let runtimes = cache().join("runtimes");
    let host = |version: &str| runtimes.join(format!("dotnet-{version}/dotnet"));
    let frameworks = runtimes.join("dotnet-3.1/shared/Microsoft.NETCore.App");
    let mut frameworks = std::fs::read_dir(frameworks).map_err(|_| missing())?;
    let libraries = frameworks.next().and_then(Result::ok).ok_or_else(missing)?.path();
    let target = lab.path(&format!("dotnet-{version}/Reads.dll"));
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    let mut compiler = program(host("8").to_str().unwrap());
    compiler.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    compiler.arg(runtimes.join("compiler/compile.dll")).arg(&target).arg(&libraries);
    let compiled = compiler.arg(source("Reads.cs")).output().map_err(|_| missing())?;
    if !compiled.status.success() || !host(version).exists() {
        return Err(missing());
    }
    let whole =
        if version.contains('.') { format!("{version}.0") } else { format!("{version}.0.0") };
    // It needs no library of locales.
    let properties = "{\"System.Globalization.Invariant\":true}";
    let framework = format!("{{\"name\":\"Microsoft.NETCore.App\",\"version\":\"{whole}\"}}");
    let options = format!("{{\"configProperties\":{properties},\"framework\":{framework}}}");
    let configuration = format!("{{\"runtimeOptions\":{options}}}");
    std::fs::write(target.with_extension("runtimeconfig.json"), configuration).unwrap();
    let words = [host(version), target].map(|path| path.to_str().unwrap().to_owned());
    Ok(words.to_vec())
}

/// Reads a random half of three random variables; answers the grade of each with the truth.
fn run(lab: &Lab, kind: &Kind, numbers: &mut Numbers) -> Vec<(bool, String)> {
    let mut names = NAMES.to_vec();
    let chosen: Vec<&str> = (0..3).map(|_| names.swap_remove(numbers.below(names.len()))).collect();
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--vars", &chosen.join(","), "--"]);
    culprit.args(&kind.command);
    let mut truth = Vec::new();
    for name in &chosen {
        culprit.env(name, "v".repeat(1 + numbers.below(60)));
        truth.push(numbers.below(2) == 1);
        if truth.last() == Some(&true) {
            let how = kind.ways[numbers.below(kind.ways.len())];
            culprit.arg(format!("{how}:{name}"));
        }
    }
    let output = culprit.output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["variables"].as_array().unwrap();
    let grade = |name: &&str| {
        let row = rows.iter().find(|row| row["name"] == **name).unwrap();
        row["grade"].as_str().unwrap().to_owned()
    };
    truth.into_iter().zip(chosen.iter().map(grade)).collect()
}

#[test]
#[ignore = "an accuracy run of some minutes: prints the table of docs/config.md"]
fn prove_accuracy() {
    if !all_rights() {
        return skip("prove_accuracy", "root");
    }
    let lab = Lab::new();
    let mut wrong = Vec::new();
    for kind in kinds(&lab) {
        let mut counts: BTreeMap<(bool, String), u32> = BTreeMap::new();
        for seed in 1..=PROGRAMS {
            for (read, grade) in run(&lab, &kind, &mut Numbers(seed * 7_919)) {
                let never = grade == "armed_whole_life_no_access";
                let claimed = ["value_read", "runtime_read", "effective_dump"].contains(&&*grade);
                if (read && never) || (!read && claimed) {
                    wrong.push(format!("{}, seed {seed}: read {read}, {grade}", kind.name));
                }
                *counts.entry((read, grade)).or_default() += 1;
            }
        }
        let row = |read: bool| {
            let cells = counts.iter().filter(|((of, _), _)| *of == read);
            cells.map(|((_, grade), n)| format!("{n} {grade}")).collect::<Vec<_>>().join(", ")
        };
        println!("| {} | {} | {} |", kind.name, row(true), row(false));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
