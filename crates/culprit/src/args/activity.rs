//! How a user names an activity to record: `NAME=[MODULE:]FUNCTION[@argN]`,
//! `NAME=START..STOP[@argN]`, `NAME=usdt:PROVIDER:START..STOP[@argN]`, `NAME=serve[:PORT]`,
//! `NAME=call[:PORT]`.

use culprit_record::{ActivityEnds, ActivityProbe, Function, SocketActivity, SocketSide};

/// An activity to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ActivityArg {
    /// Functions or static probes.
    Probe(ActivityProbe),
    /// Requests on sockets.
    Socket(SocketActivity),
}

/// What help says.
pub(super) const FORMS: &str = "\
`NAME=[MODULE:]FUNCTION`: each call, from entry to return
`NAME=START..STOP`: from the entry of one function to the entry of another, on one thread
`NAME=usdt:PROVIDER:START..STOP`: from one static probe of a program to another
`NAME=serve[:PORT]`: a request that a server receives and answers on a socket
`NAME=call[:PORT]`: a request that a client sends, until the answer has arrived

FUNCTION is a name as views show it, or the linker's name. MODULE is the program or library that \
contains it; without MODULE, Culprit searches all of them. Repeat the option for several \
activities. Each start and each stop is a trap into the kernel and takes some microseconds. Needs \
CAP_SYS_ADMIN (root).

With `@argN` at the end, the N-th argument (1 to 6) is the key of the activity. START and STOP \
with the same key belong together, on any threads. A call with the same key is part of the \
started activity.

PORT is the TCP port of the server. Without PORT, every TCP and Unix stream socket counts, and \
the side that sends first is the client. For a function with the name `serve` or `call`, write \
`MODULE:serve`. Needs Linux 6.3 and CAP_PERFMON (root). `culprit activities` shows the result.";

/// Reads one.
pub(crate) fn activity(text: &str) -> Result<ActivityArg, String> {
    if let Some((name, place)) = text.split_once('=').filter(|(name, _)| !name.is_empty())
        && let Some((side, port)) = socket(place)?
    {
        return Ok(ActivityArg::Socket(SocketActivity { name: name.to_owned(), side, port }));
    }
    probe(text).map(ActivityArg::Probe)
}

/// `serve[:PORT]` and `call[:PORT]`; none for others, among them functions of modules of these names.
fn socket(place: &str) -> Result<Option<(SocketSide, Option<u16>)>, String> {
    let (word, port) = match place.split_once(':') {
        None => (place, None),
        Some((word, port)) => (word, Some(port)),
    };
    let side = match word {
        "serve" => SocketSide::Serve,
        "call" => SocketSide::Call,
        _ => return Ok(None),
    };
    let Some(digits) = port else { return Ok(Some((side, None))) };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(None);
    }
    match digits.parse::<u16>() {
        Ok(port @ 1..) => Ok(Some((side, Some(port)))),
        _ => Err(format!("`{place}` has no valid port after the colon; ports are 1 to 65535")),
    }
}

fn probe(text: &str) -> Result<ActivityProbe, String> {
    let form = || {
        format!(
            "`{text}` is not an activity; write it as in `request=handle_request` or \
             `job=server:begin..end@arg1`"
        )
    };
    let (name, rest) = text.split_once('=').ok_or_else(form)?;
    let (places, key) = match rest.rsplit_once("@arg") {
        None => (rest, None),
        Some((places, number)) => match number.parse::<u8>() {
            Ok(number @ 1..=6) => (places, Some(number - 1)),
            _ => {
                return Err(format!("`@arg{number}` is not valid; arguments count from 1 to 6"));
            }
        },
    };
    let ends = match places.strip_prefix("usdt:") {
        Some(probe) => {
            let (provider, probes) = probe.split_once(':').ok_or_else(form)?;
            let (start, stop) = probes.split_once("..").ok_or_else(|| {
                format!("`{text}` names only one probe; write both, as in `tx=usdt:{provider}:start..done`")
            })?;
            let [provider, start, stop] = [provider, start, stop].map(str::to_owned);
            ActivityEnds::Static { provider, start, stop }
        }
        None => match places.split_once("..") {
            Some((start, stop)) => ActivityEnds::Between(function(start), function(stop)),
            None => ActivityEnds::Call(function(places)),
        },
    };
    let words = ends.words();
    if name.is_empty() || words.iter().any(|word| word.is_empty()) {
        return Err(form());
    }
    Ok(ActivityProbe { name: name.to_owned(), ends, key })
}

/// `MODULE:FUNCTION`; the `::` of a function's name separates nothing.
fn function(text: &str) -> Function {
    let colon = text.match_indices(':').map(|(at, _)| at).find(|at| {
        let alone =
            |other: Option<usize>| other.and_then(|at| text.as_bytes().get(at)) != Some(&b':');
        alone(at.checked_sub(1)) && alone(at.checked_add(1))
    });
    match colon {
        Some(at) => {
            Function { module: Some(text[..at].to_owned()), name: text[at + 1..].to_owned() }
        }
        None => Function { module: None, name: text.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str) -> Function {
        Function { module: None, name: name.to_owned() }
    }

    #[test]
    fn calls_pairs_and_static_probes_are_told_apart() {
        let read = |text| probe(text).unwrap();
        let call = read("request=handle");
        assert_eq!((call.name.as_str(), call.key), ("request", None));
        assert_eq!(call.ends, ActivityEnds::Call(plain("handle")));
        assert_eq!(read("a=b..c@arg2").ends, ActivityEnds::Between(plain("b"), plain("c")));
        assert_eq!(read("a=b..c@arg2").key, Some(1));
        let [provider, start, stop] = ["db", "begin", "end"].map(str::to_owned);
        assert_eq!(
            read("a=usdt:db:begin..end").ends,
            ActivityEnds::Static { provider, start, stop }
        );
    }

    #[test]
    fn a_module_ends_at_a_single_colon() {
        let of = |text: &str| function(text);
        assert_eq!(of("app::serve"), plain("app::serve"));
        let module = Some("libx.so".to_owned());
        assert_eq!(of("libx.so:ns::f"), Function { module, name: "ns::f".to_owned() });
    }

    #[test]
    fn requests_on_sockets_are_told_from_functions() {
        let socket = |text| match activity(text).unwrap() {
            ActivityArg::Socket(socket) => Some((socket.side, socket.port)),
            ActivityArg::Probe(_) => None,
        };
        assert_eq!(socket("web=serve:8080"), Some((SocketSide::Serve, Some(8080))));
        assert_eq!(socket("all=call"), Some((SocketSide::Call, None)));
        for function in ["a=server:serve", "a=serve:begin", "a=serve..done", "a=recall", "a=f"] {
            assert_eq!(socket(function), None, "{function}");
        }
        for port in ["a=serve:0", "a=call:65536", "a=serve:80x"] {
            assert!(activity(port).unwrap_err().contains("65535"), "{port}");
        }
    }

    #[test]
    fn what_names_nothing_says_how_to_write_it() {
        for text in [
            "",
            "request",
            "=f",
            "a=",
            "a=b..",
            "a=usdt:x",
            "a=usdt:x:y",
            "a=f@arg7",
            "a=f@arg0",
            "=serve",
        ] {
            let error = activity(text).unwrap_err();
            assert!(error.contains('`') && error.len() > 20, "{text}: {error}");
        }
    }
}
