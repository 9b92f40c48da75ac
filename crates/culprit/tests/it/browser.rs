//! A browser that tests drive: Chromium without a window, through the pipes of its debugging protocol.
//!
//! ```text
//! test ─ commands: JSON, then a zero byte ──> browser
//!      <─ answers and events, the same way ─
//! ```
//!
//! Clicks and keys are the browser's own, so that a page hears them as it hears a user's.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{Lab, number, program};

/// The browser reads commands from descriptor 3 and answers on 4.
const START: &str = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A running browser with one tab.
#[derive(Debug)]
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The tab; empty until there is one.
    session: String,
    sent: u64,
    events: Vec<Value>,
}

impl Browser {
    /// A browser that keeps its files in the lab; none where Chromium is missing.
    pub(crate) fn start(lab: &Lab) -> Option<Self> {
        let version = program("chromium").arg("--version").env("HOME", lab.path(".")).output();
        if !version.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let mut process = program("sh")
            .args(["-c", START, "sh", "--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--remote-debugging-pipe", "--window-size=1200,900"])
            .env("HOME", lab.path("."))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let (session, sent, events) = (String::new(), 0, Vec::new());
        let mut browser = Self { process, commands, answers, session, sent, events };
        let tab = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let tab = json!({"targetId": tab["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &tab);
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Opens a file; returns when it is loaded and its scripts have run.
    pub(crate) fn open(&mut self, page: &Path) {
        self.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The text of the element that a selector finds.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().expect("a text").to_owned()
    }

    /// Clicks into the element that a selector finds, at a part of its width and below its upper edge.
    pub(crate) fn click_at(&mut self, selector: &str, part: f64, below: f64) {
        let (x, y) = self.point(selector, part, below);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    /// Clicks the middle of an element's first line.
    pub(crate) fn click(&mut self, selector: &str) {
        self.click_at(selector, 0.5, 8.0);
    }

    /// Draws the mouse with its button pressed from one part of an element's width to another.
    pub(crate) fn drag(&mut self, selector: &str, parts: (f64, f64), below: f64) {
        let (from, y) = self.point(selector, parts.0, below);
        let (to, _) = self.point(selector, parts.1, below);
        self.mouse("mousePressed", from, y);
        self.mouse("mouseMoved", to, y);
        self.mouse("mouseReleased", to, y);
    }

    /// Moves the mouse over an element.
    pub(crate) fn hover(&mut self, selector: &str, part: f64, below: f64) {
        let (x, y) = self.point(selector, part, below);
        self.mouse("mouseMoved", x, y);
    }

    /// Chooses an entry of a list.
    pub(crate) fn choose(&mut self, selector: &str, value: &str) {
        self.value(&format!(
            "{{ const list = document.querySelector({selector:?}); list.value = {value:?}; \
             list.dispatchEvent(new Event('change', {{ bubbles: true }})); }}"
        ));
    }

    /// Types into an element.
    pub(crate) fn write(&mut self, selector: &str, text: &str) {
        self.focus(selector);
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key while an element has the keyboard.
    pub(crate) fn press(&mut self, selector: &str, key: &str) {
        self.focus(selector);
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
    }

    /// Fails when the page's scripts complained since it was opened.
    pub(crate) fn assert_no_complaint(&mut self) {
        // What happened before is reported before the answer to this.
        self.value("0");
        let complaints = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let said = |event: &&Value| complaints.iter().any(|kind| event["method"] == *kind);
        let said: Vec<&Value> = self.events.iter().filter(said).collect();
        assert!(said.is_empty(), "{said:?}");
    }

    fn focus(&mut self, selector: &str) {
        self.value(&format!("document.querySelector({selector:?}).focus()"));
    }

    /// A place in an element, scrolled into the window.
    fn point(&mut self, selector: &str, part: f64, below: f64) -> (f64, f64) {
        let area = self.value(&format!(
            "(() => {{ const found = document.querySelector({selector:?}); \
             found.scrollIntoView({{ block: 'start', behavior: 'instant' }}); \
             scrollBy({{ top: -80, behavior: 'instant' }}); \
             const {{ x, y, width }} = found.getBoundingClientRect(); return {{ x, y, width }}; }})()"
        ));
        (number(&area["x"]) + part * number(&area["width"]), number(&area["y"]) + below)
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("the browser reads");
        loop {
            let mut message = self.read();
            if message["id"] == self.sent {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).expect("the browser answers");
        message.pop().expect("the browser runs");
        serde_json::from_slice(&message).expect("a JSON document")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
