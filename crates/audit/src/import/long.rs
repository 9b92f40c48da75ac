//! Long texts: how large, which hash, which host, and what looks wrong with them.

use super::batch::{Batch, RawLong};
use crate::schema::TermKind;

/// Letters and digits in a row, as base64 has them, that are no word.
const PAYLOAD: usize = 100;
/// What stands before a session's secret, in lower case.
const TOKENS: [&str; 6] =
    ["sessionid=", "phpsessid=", "access_token=", "id_token=", "&sid=", "?sid="];

/// Notes a long text at a path.
pub(crate) fn long_value(batch: &mut Batch, path: (u32, u32), text: &str, utf16: usize) {
    let host = host(text).map(|host| batch.term(TermKind::Host, host));
    let junk = junk(text);
    let junk = (!junk.is_empty()).then(|| batch.term(TermKind::Junk, &junk));
    batch.longs.push(RawLong {
        path,
        utf8: text.len() as u64,
        utf16: utf16 as u64,
        hash: twox_hash::XxHash64::oneshot(0, text.as_bytes()),
        host,
        junk,
    });
}

/// Scheme and host of an address.
fn host(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    let fits = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (fits && end > 0 && end < 256).then(|| &text[..scheme.len() + 3 + end])
}

/// What looks wrong with a text, joined by `+`.
fn junk(text: &str) -> String {
    let folded = text.to_ascii_lowercase();
    let script = folded.contains("<script") || folded.contains("javascript:");
    let base64 = folded.contains("base64,") || has_payload(text.as_bytes());
    let token = TOKENS.iter().any(|token| folded.contains(token));
    let found = [
        (script, "script"),
        (base64, "base64"),
        (token, "session-token"),
        (repeats_parameter(text), "repeated-parameter"),
    ];
    let found: Vec<&str> =
        found.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
    found.join("+")
}

/// Whether letters of base64 stand in a row, with both cases and digits among them.
fn has_payload(text: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    text.split(|byte| !letter(byte)).any(|run| {
        run.len() >= PAYLOAD
            && run.iter().any(u8::is_ascii_uppercase)
            && run.iter().any(u8::is_ascii_lowercase)
            && run.iter().any(u8::is_ascii_digit)
    })
}

/// Whether a parameter stands twice in a query with the same value.
fn repeats_parameter(text: &str) -> bool {
    let Some((_, query)) = text.split_once('?') else { return false };
    let mut parameters: Vec<&str> =
        query.split(['&', ';']).filter(|one| one.contains('=')).take(1000).collect();
    parameters.sort_unstable();
    parameters.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_wrong_has_a_name() {
        assert_eq!(junk("https://a.example/very/long/path/with/words"), "");
        assert_eq!(junk("https://a.example/?x=<SCRIPT>alert(1)"), "script");
        assert_eq!(junk("https://a.example/?JSESSIONID=12"), "session-token");
        assert_eq!(junk("https://a.example/?a=1&b=2&a=1"), "repeated-parameter");
        assert_eq!(junk(&format!("x={}", "aB3".repeat(40))), "base64");
        assert_eq!(junk(&"ab-".repeat(60)), "");
        assert_eq!(host("https://u.example:8080/x"), Some("https://u.example:8080"));
        assert_eq!(host("see https://u.example/"), None);
    }
}
