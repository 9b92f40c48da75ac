//! `culprit view`: the address, what it leads to, and the end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use crate::support::{Lab, stderr, stdout, wait_until};

const DRAWING: &str = "stack c cpu.user main;work\napp(1)/main(1) cccc|\nroot app(1)";

fn signal(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

#[test]
fn the_page_is_there_until_ctrl_c() {
    let lab = Lab::new();
    lab.draw("x.culprit", DRAWING);
    for (ending, json) in
        [(rustix::process::Signal::INT, false), (rustix::process::Signal::TERM, true)]
    {
        let mut command = lab.culprit();
        command.args(["view", "x.culprit"]).args(json.then_some("--json"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("/?t=") {
            assert!(out.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let address = said.split("http://").nth(1).unwrap().split('"').next().unwrap().trim();
        let (host, path) = address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        // A connection that is held open holds nothing up.
        let _idle = TcpStream::connect(host).unwrap();
        signal(&child, ending);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(TcpStream::connect(host).is_err());
        out.read_to_string(&mut said).unwrap();
        if json {
            let document: serde_json::Value = serde_json::from_str(&said).unwrap();
            assert_eq!(document["recordings"], 1);
        } else {
            assert_eq!(said.lines().count(), 1);
        }
    }
    let left: Vec<_> = std::fs::read_dir(lab.path("")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Runs `view --open` until it has printed its address; gives the address and what it said.
fn opened(lab: &Lab, change: impl FnOnce(&mut std::process::Command)) -> (String, String) {
    let mut command = lab.culprit();
    command.args(["view", "x.culprit", "--open"]);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    change(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    signal(&child, rustix::process::Signal::INT);
    child.wait().unwrap();
    (address.trim().to_owned(), said)
}

#[test]
fn a_browser_is_opened_where_there_is_a_display() {
    let lab = Lab::new();
    lab.draw("x.culprit", DRAWING);
    let (_, said) = opened(&lab, |_| ());
    assert!(said.contains("neither DISPLAY nor WAYLAND_DISPLAY is set"), "{said}");
    let (_, said) = opened(&lab, |command| {
        command.env("DISPLAY", ":7").env("PATH", lab.path("nowhere"));
    });
    assert!(said.contains("`xdg-open` does not start"), "{said}");
    let opener = lab.path("xdg-open");
    let script = "#!/bin/sh\necho \"$1\" > asked.tmp && /bin/mv asked.tmp asked\n";
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (address, said) = opened(&lab, |command| {
        command.env("DISPLAY", ":7").env("PATH", lab.path(""));
    });
    assert!(said.contains("The browser opens the page"), "{said}");
    wait_until("the browser was asked", || lab.path("asked").exists());
    assert_eq!(std::fs::read_to_string(lab.path("asked")).unwrap().trim(), address);
}

#[test]
fn what_is_no_recording_and_a_port_in_use_are_refused() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.txt"), "text").unwrap();
    let run = |arguments: &[&str]| lab.culprit().arg("view").args(arguments).output().unwrap();
    for (arguments, why) in [
        (&["a.txt"][..], "`a.txt` is not a recording"),
        (&["nowhere"], "nowhere"),
        (&[], "no file in it ends in `.culprit`"),
        (&["--port", "70000"], "70000"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why) && stdout(&output).is_empty(), "{}", stderr(&output));
    }
    lab.draw("x.culprit", DRAWING);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = run(&["--port", &port]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("leave out `--port`"), "{}", stderr(&output));
}
