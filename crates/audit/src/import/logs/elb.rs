//! Logs of Amazon's load balancers: the application's (ALB), whose lines begin with the kind of
//! connection, and the classic one's (ELB), whose lines begin with the time.

use super::request::{
    LogLine, Requests, quoted, read_lines, request_line, size, status, without_port,
};
use crate::import::zone::LogTime;
use crate::values::time;

/// Words that a line has before the request.
const BEFORE_REQUEST: usize = 11;

/// Reads lines of either form.
pub(crate) fn read_elb(chunk: &[u8]) -> Requests {
    read_lines(chunk, elb)
}

/// Adds the request of a line such as
/// `http 2026-11-28T23:12:14.53Z app/lb/1 10.0.0.1:2817 10.0.0.9:80 0.0 0.0 0.0 200 200 34 366
/// "GET http://h:80/a HTTP/1.1" "agent" ...`.
fn elb(line: &[u8], out: &mut Requests) -> Result<(), &'static str> {
    let first = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let skipped = if time(first).is_some() { 0 } else { first.len() + 1 };
    let mut rest = line.get(skipped..).ok_or("the line ends before its time")?;
    let mut words = [&b""[..]; BEFORE_REQUEST];
    for word in &mut words {
        let end = memchr::memchr(b' ', rest).ok_or("the line ends before its request")?;
        (*word, rest) = (&rest[..end], &rest[end + 1..]);
    }
    let [at, _, client, _, _, _, _, of_balancer, _, _, sent] = words;
    let (ms, _) = time(at).ok_or("the time cannot be read")?;
    let status = status(of_balancer).ok_or("the status is no number")?;
    let (request, rest) = quoted(rest).ok_or("the request has no closing quote")?;
    // Lines of early classic balancers end with the request.
    let agent = match rest.trim_ascii_start() {
        b"" if skipped == 0 => &b""[..],
        rest => quoted(rest).ok_or("the user agent has no closing quote")?.0,
    };
    let (method, target) = request_line(request);
    out.add(&LogLine {
        time: LogTime::known(ms),
        address: without_port(client),
        agent: if agent == b"-" { b"" } else { agent },
        method,
        // The address of `GET http://host:80/a`; a request that could not be read is `- - -`.
        target: if target == b"-" { b"" } else { target },
        status,
        sent: size(sent),
        bytes: line.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALB: &str = "https 2026-11-28T23:12:14.534000Z app/lb/50dc 203.0.113.9:2817 10.0.0.1:80 \
                       0.086 0.048 0.037 200 200 0 57 \"GET https://www.site.example:443/a?b=c HTTP/1.1\" \
                       \"Mozilla/5.0 \\\"x\\\"\" ECDHE-RSA TLSv1.2 arn:aws:x \"Root=1\" \"-\" \"-\" 1 2026-11-28T23:12:14.5Z";
    const CLASSIC: &str = "2026-11-28T23:12:14.534000Z lb [2001:db8::9]:2817 10.0.0.1:80 0.0 0.0 0.0 \
                           404 404 0 57 \"HEAD http://www.site.example:80/b HTTP/1.1\" \"curl/8\" - -";

    #[test]
    fn both_forms_are_read() {
        let read = read_elb(format!("{ALB}\n{CLASSIC}\n").as_bytes());
        assert!(read.lines.rejects.is_empty(), "{:?}", read.lines.rejects);
        let texts = |words: &crate::import::batch::Words| {
            words.words.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts(&read.addresses), ["203.0.113.9", "2001:db8::9"]);
        assert_eq!(texts(&read.agents), ["Mozilla/5.0 \\\"x\\\"", "curl/8"]);
        assert_eq!(texts(&read.paths), ["/a", "/b"]);
        assert_eq!(read.first_ms(), Some(1_795_907_534_534));
        assert_eq!((read.requests[0].sent, read.requests[1].status), (57, 404));
        assert!(read.requests[1].head && !read.requests[0].head);
    }

    #[test]
    fn a_line_cut_anywhere_before_its_end_is_read_or_rejected() {
        for end in 0..ALB.len() {
            let read = read_elb(&ALB.as_bytes()[..end]);
            let whole = end > ALB.find("Mozilla").unwrap() + 18;
            if whole {
                assert_eq!(read.requests.len(), 1, "{end}");
            }
            assert_eq!(read.requests.len() + read.lines.rejects.len(), usize::from(end > 0));
        }
        let unread = "http 2026-11-28T23:12:14Z app/lb/5 203.0.113.9:1 - -1 -1 -1 400 - 0 0 \"- - -\" \"-\" - -";
        let read = read_elb(unread.as_bytes());
        assert_eq!(
            (read.requests[0].status, &*read.paths.words[0], &*read.agents.words[0]),
            (400, "/", "")
        );
    }
}
