//! `sc://HOST:PORT/;PARAMETER=VALUE`: where a server of Spark Connect is, and how to talk to it.
//!
//! The form is that of Spark's own clients (`sql/connect/docs/client-connection-string.md`). A parameter
//! that is not known here is refused, because a misspelt one could send a question over an open line.

use std::fmt;
use std::net::IpAddr;

/// The port where none is given.
const PORT: u16 = 15002;
/// The name of the user where none is given.
const USER: &str = "culprit";
/// Parameters that are known; names that begin with `x-` are sent as headers.
const KNOWN: [&str; 3] = ["use_ssl", "token", "user_id"];

/// Where a server of Spark Connect is.
#[derive(Clone, PartialEq, Eq)]
pub struct SparkAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    /// True when the text says that there is no TLS.
    open: bool,
    pub(super) token: Option<String>,
    pub(super) user: String,
    pub(super) headers: Vec<(String, String)>,
}

impl SparkAddress {
    /// Reads `sc://HOST[:PORT][/;PARAMETER=VALUE...]`.
    ///
    /// # Errors
    /// What is wrong with the text. The message does not repeat values, which may be secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("sc://").ok_or("it does not begin with `sc://`")?;
        let (place, parameters) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(place)?;
        let mut address = Self {
            host,
            port,
            tls: false,
            open: false,
            token: None,
            user: USER.to_owned(),
            headers: Vec::new(),
        };
        for parameter in parameters.split(';').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter
                .split_once('=')
                .ok_or("each part after `/;` must have the form `parameter=value`")?;
            let value = decoded(value)
                .ok_or_else(|| format!("the value of `{name}` is not percent-encoded text"))?;
            match name {
                "use_ssl" => {
                    address.tls = truth(&value).ok_or("`use_ssl` must be `true` or `false`")?;
                    address.open = !address.tls;
                }
                "token" => address.token = Some(value),
                "user_id" => address.user = value,
                name if name.starts_with("x-") => address.headers.push((name.to_owned(), value)),
                name => return Err(unknown(name)),
            }
        }
        address.secured()
    }

    /// The same address with a token.
    ///
    /// # Errors
    /// When the token would go over an open line.
    pub fn with_token(self, token: &str) -> Result<Self, String> {
        Self { token: Some(token.to_owned()), ..self }.secured()
    }

    /// A token goes over TLS, or stays on this machine.
    fn secured(mut self) -> Result<Self, String> {
        if self.token.is_some() && !self.tls {
            match (self.open, self.is_here()) {
                (true, true) => {}
                (true, false) => {
                    return Err("a `token` needs `use_ssl=true`: anybody on the way could read it"
                        .to_owned());
                }
                (false, here) => self.tls = !here,
            }
        }
        Ok(self)
    }

    /// True when the server is on this machine.
    fn is_here(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// The address as HTTP/2 has it.
    pub(super) fn uri(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

/// Without token and headers: this is printed.
impl fmt::Display for SparkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sc://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for SparkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparkAddress({self})")
    }
}

fn host_and_port(place: &str) -> Result<(String, u16), String> {
    let (host, port) = match place.rfind(':').filter(|at| !place[*at..].contains(']')) {
        Some(at) => (&place[..at], Some(&place[at + 1..])),
        None => (place, None),
    };
    let port = match port {
        Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or("its port is no number")?,
        None => PORT,
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let address = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    let fits = match bracketed {
        true => host[1..host.len() - 1].chars().all(address) && host.len() > 2,
        false => host.chars().all(name) && !host.is_empty(),
    };
    if fits { Ok((host.to_owned(), port)) } else { Err("it names no host".to_owned()) }
}

fn unknown(name: &str) -> String {
    format!(
        "the parameter `{name}` is not known; known are {}, and headers that begin with `x-`",
        {
            let known: Vec<String> = KNOWN.iter().map(|name| format!("`{name}`")).collect();
            known.join(", ")
        }
    )
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A value without `%3B` and the like.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SparkAddress {
        SparkAddress::parse(text).unwrap()
    }

    #[test]
    fn host_and_port_are_read() {
        assert_eq!(parsed("sc://spark").uri(), "http://spark:15002");
        assert_eq!(parsed("sc://spark:1/").uri(), "http://spark:1");
        assert_eq!(parsed("sc://[::1]:7").uri(), "http://[::1]:7");
        assert_eq!(parsed("sc://10.0.0.1:443/;use_ssl=TRUE").uri(), "https://10.0.0.1:443");
        for wrong in ["spark:1", "sc://", "sc://:1", "sc://a b", "sc://a:x", "sc://a:0", "sc://[]"]
        {
            assert!(SparkAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_never_sent_over_an_open_line() {
        assert!(parsed("sc://spark/;token=abc").tls);
        assert!(!parsed("sc://127.0.0.1/;token=abc").tls);
        assert!(parsed("sc://localhost/;use_ssl=true;token=abc").tls);
        let error = SparkAddress::parse("sc://spark/;token=secret;use_ssl=false").unwrap_err();
        assert!(error.contains("use_ssl=true") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn parameters_are_read_and_unknown_ones_are_named() {
        let address = parsed("sc://h/;user_id=a%3Bb;x-databricks-cluster-id=1-2;token=t");
        assert_eq!((address.user.as_str(), address.token.as_deref()), ("a;b", Some("t")));
        assert_eq!(address.headers, [("x-databricks-cluster-id".to_owned(), "1-2".to_owned())]);
        let error = SparkAddress::parse("sc://h/;use_tls=true").unwrap_err();
        assert!(error.contains("`use_tls`") && error.contains("`use_ssl`"), "{error}");
        assert!(SparkAddress::parse("sc://h/;token=%0d%0a").is_err());
        assert!(SparkAddress::parse("sc://h/;token").is_err());
        assert!(!format!("{address:?} {address}").contains('t'.to_string().repeat(2).as_str()));
    }
}
