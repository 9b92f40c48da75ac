//! The page as those see it who may use it, and as those do who may not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;

use culprit_model::Recording;
use culprit_server::{Error, Server};

/// A page that is served, and who may use it.
struct Page {
    address: String,
    token: String,
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Page {
    /// Serves until the test ends.
    fn of(path: &Path) -> Self {
        let server = Server::bind(path, 0).expect("it works");
        let url = server.url().to_owned();
        std::thread::spawn(move || server.serve());
        let (address, token) =
            url.strip_prefix("http://").expect("it works").split_once("/?t=").expect("it works");
        Self { address: address.to_owned(), token: token.to_owned() }
    }

    /// Sends bytes and reads the answer; none where the connection is closed without one.
    fn raw(&self, request: &[u8]) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).expect("it works");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("it works");
        // A server that refuses early may have closed its end.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, head, body: bytes[end + 4..].to_vec() })
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(format!("{request}\r\n").as_bytes()).expect("an answer")
    }

    /// The cookie that the token is exchanged for.
    fn enter(&self) -> String {
        let answer = self.ask("GET", &format!("/?t={}", self.token), &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        let cookie = answer.header("set-cookie").expect("it works");
        cookie.split(';').next().expect("it works").to_owned()
    }

    fn get(&self, path: &str, cookie: &str) -> Answer {
        self.ask("GET", path, &[("Cookie", cookie)])
    }
}

const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'& \u{202e}fdp.culprit";

/// A folder with two recordings, a secret, and a way out.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("it works");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("shown")).expect("it works");
    culprit_recording::write(at("shown/a.culprit"), &Recording::default()).expect("it works");
    std::fs::write(at("shown").join(HOSTILE), "0123456789").expect("it works");
    std::fs::write(at("shown/notes.txt"), "a secret").expect("it works");
    std::fs::write(at("secret.culprit"), "a secret").expect("it works");
    symlink(at("secret.culprit"), at("shown/link.culprit")).expect("it works");
    folder
}

fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn whoever_has_the_token_gets_the_page_and_the_recordings() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let cookie = page.enter();
    let index = page.get("/", &cookie);
    assert_eq!(index.status, 200);
    assert_eq!(index.header("content-type"), Some("text/html; charset=utf-8"));
    let list = page.get("/api/recordings", &cookie);
    assert_eq!(list.header("content-type"), Some("application/json"));
    let list: serde_json::Value = serde_json::from_slice(&list.body).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!((&list[0]["name"], &list[0]["bytes"]), (&HOSTILE.into(), &10.into()));
    assert!(list[0]["modified_ms"].as_u64().unwrap() > 1_500_000_000_000);
    let file = std::fs::read(folder.path().join("shown/a.culprit")).unwrap();
    let whole = page.get("/api/recordings/a.culprit", &cookie);
    assert_eq!((whole.status, &whole.body), (200, &file));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    let hostile = page.get(&format!("/api/recordings/{}", encoded(HOSTILE)), &cookie);
    assert_eq!((hostile.status, hostile.text()), (200, "0123456789".to_owned()));
    // The same browser may open the address again.
    let again = page.get(&format!("/?t={}", page.token), &cookie);
    assert_eq!((again.status, again.header("location")), (303, Some("/")));
}

#[test]
fn without_the_token_nothing_is_told() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let paths = ["/", "/assets/app.js", "/api/recordings", "/api/recordings/a.culprit", "/nowhere"];
    for path in paths {
        assert_eq!(page.ask("GET", path, &[]).status, 403, "{path}");
        let token = format!("{path}?t={}", page.token);
        if path != "/" {
            assert_eq!(page.ask("GET", &token, &[]).status, 403, "{token}");
        }
    }
    for wrong in ["/?t=", "/?t=0", "/?T=x", &format!("/?t={}0", page.token)] {
        assert_eq!(page.ask("GET", wrong, &[]).status, 403, "{wrong}");
    }
    // What looks at addresses ahead of the user does not use them up.
    assert_eq!(page.ask("HEAD", &format!("/?t={}", page.token), &[]).status, 403);
    let cookie = page.enter();
    let used = page.ask("GET", &format!("/?t={}", page.token), &[]);
    assert_eq!(used.status, 403);
    assert!(used.text().contains("the token was used") && used.header("set-cookie").is_none());
    for wrong in ["", "culprit=1", &cookie.replace('=', "x="), &cookie[..cookie.len() - 1]] {
        assert_eq!(page.get("/", wrong).status, 403, "{wrong}");
    }
}

#[test]
fn foreign_pages_and_names_are_refused() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let cookie = page.enter();
    let port = page.address.rsplit(':').next().unwrap();
    let ask = |headers: &[(&str, &str)]| {
        let headers = [&[("Cookie", cookie.as_str())], headers].concat();
        page.ask("GET", "/api/recordings", &headers).status
    };
    let (local, suffix) = (format!("localhost:{port}"), format!("127.0.0.1:{port}.evil.example"));
    assert_eq!(ask(&[("Host", &local)]), 200);
    for host in ["evil.example", "127.0.0.1", "", &suffix] {
        assert_eq!(ask(&[("Host", host)]), 403, "{host}");
    }
    assert_eq!(ask(&[("Origin", &format!("http://{}", page.address))]), 200);
    for origin in ["null", "http://evil.example", "http://127.0.0.1", &format!("https://{local}")] {
        assert_eq!(ask(&[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(ask(&[("Sec-Fetch-Site", "cross-site")]), 403);
    // Names of the token, too: a foreign page may know it before the user comes.
    let other = Page::of(&folder.path().join("shown"));
    let path = format!("/?t={}", other.token);
    assert_eq!(other.ask("GET", &path, &[("Host", "evil.example")]).status, 403);
    assert_eq!(other.ask("GET", &path, &[("Origin", "http://evil.example")]).status, 403);
    other.enter();
}

#[test]
fn no_path_leaves_the_folder() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let cookie = page.enter();
    let long = format!("{}.culprit", "x".repeat(10_000));
    for name in [
        "../secret.culprit",
        "..%2fsecret.culprit",
        "%2e%2e/secret.culprit",
        "%2e%2e%2fsecret.culprit",
        "%252e%252e%252fsecret.culprit",
        "..%5csecret.culprit",
        "..%c0%afsecret.culprit",
        "./a.culprit",
        "/a.culprit",
        "%2fetc%2fpasswd",
        "a.culprit%00",
        "a.culprit/",
        "notes.txt",
        "link.culprit",
        "%ff%fe",
        "",
        &long,
    ] {
        for path in [format!("/api/recordings/{name}"), format!("/assets/{name}")] {
            let answer = page.get(&path, &cookie);
            assert_eq!(answer.status, 404, "{path}");
            assert!(!answer.text().contains("a secret"), "{path}");
        }
    }
    for path in [
        "/../secret.culprit",
        "//etc/passwd",
        "/assets",
        "/assets/",
        "/manifest.json",
        "/index.html",
    ] {
        assert_eq!(page.get(path, &cookie).status, 404, "{path}");
    }
}

#[test]
fn ranges_are_kept_to_what_there_is() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let cookie = page.enter();
    let path = format!("/api/recordings/{}", encoded(HOSTILE));
    let ask = |range: &str| {
        let answer = page.ask("GET", &path, &[("Cookie", &cookie), ("Range", range)]);
        let of = answer.header("content-range").map(str::to_owned);
        (answer.status, answer.text(), of)
    };
    let part = |text: &str, of: &str| (206, text.to_owned(), Some(format!("bytes {of}/10")));
    let all = (200, "0123456789".to_owned(), None);
    assert_eq!(ask("bytes=2-4"), part("234", "2-4"));
    assert_eq!(ask("bytes=-2"), part("89", "8-9"));
    assert_eq!(ask("bytes=8-99999999999999999999999999"), part("89", "8-9"));
    assert_eq!(ask("bytes=99999999999999999999999999-").0, 416);
    assert_eq!(ask("bytes=10-"), (416, String::new(), Some("bytes */10".to_owned())));
    let many = format!("bytes={}", ["0-1"; 1_000].join(","));
    for odd in ["bytes=4-2", "bytes=a-b", "bytes=0-1,3-4", "rows=0-1", "bytes=-", &many] {
        assert_eq!(ask(odd), all, "{odd}");
    }
    let head = page.ask("HEAD", &path, &[("Cookie", &cookie)]);
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("10"), 0));
}

#[test]
fn every_answer_shuts_the_page_off() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let refused = page.ask("GET", "/", &[]);
    let entered = page.ask("GET", &format!("/?t={}", page.token), &[]);
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert!(entered.header("set-cookie").unwrap().ends_with("; Path=/; HttpOnly; SameSite=Strict"));
    let posted = page.ask("POST", "/api/recordings", &[("Cookie", &cookie)]);
    assert_eq!(posted.status, 405);
    let paths = ["/", "/api/recordings", "/api/recordings/a.culprit", "/nowhere"];
    let answers = paths.iter().map(|path| page.get(path, &cookie));
    for answer in answers.chain([refused, entered, posted]) {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'")
        );
        assert!(!policy.contains("'unsafe-"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn what_is_no_http_ends_the_connection_alone() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let host = format!("Connection: close\r\nHost: {}\r\n", page.address);
    let long = format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{host}{}\r\n", "A: b\r\n".repeat(1_000));
    for bytes in [
        b"\0\xff\0\xff\r\n\r\n".as_slice(),
        long.as_bytes(),
        many.as_bytes(),
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    ] {
        if let Some(answer) = page.raw(bytes) {
            assert!(answer.status >= 400, "{}", answer.head);
        }
    }
    page.enter();
}

#[test]
fn only_loopback_is_bound() {
    let folder = folder();
    let page = Page::of(&folder.path().join("shown"));
    let (ip, port) = page.address.split_once(':').unwrap();
    assert_eq!(ip, "127.0.0.1");
    let port = format!(":{:04X}", port.parse::<u16>().unwrap());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let locals = table.lines().filter_map(|line| line.split_whitespace().nth(1));
    let ours: Vec<&str> = locals.filter(|local| local.ends_with(&port)).collect();
    assert!(
        !ours.is_empty() && ours.iter().all(|local| local.starts_with("0100007F:")),
        "{ours:?}"
    );
    let table = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    assert!(
        !table
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1))
            .any(|local| local.ends_with(&port))
    );
}

#[test]
fn what_cannot_be_shown_is_said() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let refused = |name: &str| Server::bind(&at(name), 0).unwrap_err();
    assert!(refused("secret.culprit").to_string().contains("is not a recording"));
    assert!(matches!(refused("nowhere"), Error::Recording(_)));
    std::fs::create_dir(at("empty")).unwrap();
    let empty = refused("empty");
    assert!(empty.is_input() && empty.hint().is_some(), "{empty}");
    let first = Server::bind(&at("shown"), 0).unwrap();
    let port = first.url().rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let taken = Server::bind(&at("shown"), port).unwrap_err();
    assert!(!taken.is_input() && taken.hint().unwrap().contains("--port"), "{taken}");
}
