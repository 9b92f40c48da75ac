//! Who may ask: whoever came with the token, from our own page.

use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderName, header};

use crate::Error;

/// Bytes of a secret: as many as nobody guesses.
const SECRET_BYTES: usize = 32;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its `Host` is not our address: a name of a foreign site may lead to loopback.
    Host,
    /// It comes from the page of another site.
    Origin,
    /// It has no cookie of ours.
    Cookie,
    /// Its token is wrong.
    Token,
    /// Its token was used.
    UsedToken,
}

impl Refusal {
    /// What the person in front of the browser is told.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Host => "refused: the request was for another host\n",
            Self::Origin => "refused: the request came from another site\n",
            Self::Cookie => "refused: open the address that `culprit view` printed\n",
            Self::Token => {
                "refused: the token is wrong; open the address that `culprit view` printed\n"
            }
            Self::UsedToken => {
                "refused: the token was used; it opens the page once. If that was not you, end \
                 `culprit view` and start it again\n"
            }
        }
    }
}

/// The secrets of one page.
#[derive(Debug)]
pub(crate) struct Access {
    port: u16,
    token: String,
    used: AtomicBool,
    /// What the token is exchanged for.
    session: String,
}

impl Access {
    /// New secrets, and the token.
    pub(crate) fn new(port: u16) -> Result<(Self, String), Error> {
        let token = secret()?;
        let access =
            Self { port, token: token.clone(), used: AtomicBool::new(false), session: secret()? };
        Ok((access, token))
    }

    /// Whether a request may be for us at all, whatever secrets it has.
    pub(crate) fn check_source(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_own = |host: &str| own.iter().any(|own| own == host);
        match one(headers, &header::HOST) {
            Some(host) if is_own(host) => {}
            _ => return Err(Refusal::Host),
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = one(headers, &header::ORIGIN);
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            if !host.is_some_and(is_own) {
                return Err(Refusal::Origin);
            }
        }
        let site = HeaderName::from_static("sec-fetch-site");
        let foreign = ["cross-site", "same-site"];
        if one(headers, &site).is_some_and(|site| foreign.contains(&site)) {
            return Err(Refusal::Origin);
        }
        Ok(())
    }

    /// Whether a request has our cookie.
    pub(crate) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let cookies = headers.get_all(header::COOKIE).iter();
        let pairs = cookies.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
        let ours = pairs.filter_map(|pair| pair.trim().split_once('='));
        let name = self.cookie_name();
        let found =
            ours.filter(|(key, _)| *key == name).any(|(_, value)| same(value, &self.session));
        if found { Ok(()) } else { Err(Refusal::Cookie) }
    }

    /// Takes the token, once.
    pub(crate) fn redeem(&self, token: &str) -> Result<(), Refusal> {
        if !same(token, &self.token) {
            return Err(Refusal::Token);
        }
        if self.used.swap(true, Ordering::SeqCst) {
            return Err(Refusal::UsedToken);
        }
        Ok(())
    }

    /// The cookie that a token is exchanged for. Cookies do not tell ports apart, so its name does.
    pub(crate) fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), self.session)
    }

    fn cookie_name(&self) -> String {
        format!("culprit-{}", self.port)
    }
}

/// The value of a header that stands there exactly once.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether two texts are the same; it takes as long whatever they begin with.
fn same(a: &str, b: &str) -> bool {
    let differs = a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differs) == 0
}

fn secret() -> Result<String, Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Token(io::Error::other(error)))?;
    let mut text = String::with_capacity(2 * SECRET_BYTES);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_host_and_page_may_ask() {
        let (access, _) = Access::new(4711).unwrap();
        let check = |pairs: &[(&'static str, &str)]| access.check_source(&headers(pairs));
        let host = ("host", "127.0.0.1:4711");
        assert_eq!(check(&[host]), Ok(()));
        assert_eq!(check(&[("host", "localhost:4711")]), Ok(()));
        for foreign in
            ["", "evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4711.evil.example"]
        {
            assert_eq!(check(&[("host", foreign)]), Err(Refusal::Host), "{foreign}");
        }
        assert_eq!(check(&[]), Err(Refusal::Host));
        assert_eq!(check(&[host, ("host", "evil.example")]), Err(Refusal::Host));
        assert_eq!(check(&[host, ("origin", "http://127.0.0.1:4711")]), Ok(()));
        for foreign in
            ["null", "https://127.0.0.1:4711", "http://127.0.0.1:4712", "http://evil.example"]
        {
            assert_eq!(check(&[host, ("origin", foreign)]), Err(Refusal::Origin), "{foreign}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(check(&[host, ("sec-fetch-site", site)]), Err(Refusal::Origin));
        }
        assert_eq!(check(&[host, ("sec-fetch-site", "same-origin")]), Ok(()));
    }

    #[test]
    fn a_token_is_exchanged_once_for_a_cookie() {
        let (access, token) = Access::new(4711).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(access.redeem("x"), Err(Refusal::Token));
        assert_eq!(access.redeem(""), Err(Refusal::Token));
        assert_eq!(access.redeem(&token), Ok(()));
        assert_eq!(access.redeem(&token), Err(Refusal::UsedToken));
        let cookie = access.cookie();
        assert!(!cookie.contains(&token) && cookie.ends_with("; HttpOnly; SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        let check = |cookie: &str| access.check_cookie(&headers(&[("cookie", cookie)]));
        assert_eq!(check(pair), Ok(()));
        assert_eq!(check(&format!("a=b; {pair}; c")), Ok(()));
        for wrong in ["culprit-4711=", "culprit-4711=0", &pair.replace("4711", "4712"), &pair[..70]]
        {
            assert_eq!(check(wrong), Err(Refusal::Cookie), "{wrong}");
        }
        assert_eq!(access.check_cookie(&HeaderMap::new()), Err(Refusal::Cookie));
    }

    #[test]
    fn no_two_pages_have_the_same_secrets() {
        let (a, b) = (Access::new(1).unwrap(), Access::new(1).unwrap());
        assert!(a.1 != b.1 && a.0.session != b.0.session && a.0.session != a.1);
    }
}
