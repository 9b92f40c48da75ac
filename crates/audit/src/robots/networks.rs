//! A user's file of networks (R9): data centres, and those that verify a robot.
//!
//! ```text
//! 203.0.113.0/24 cloud             a data centre
//! 192.0.2.0/24 verifies Googlebot  the network of the robot whose user agent has this word
//! ```

use std::net::IpAddr;

use super::super::lists::RejectedLine;
use crate::fold::fold;

/// Networks and what they say.
#[derive(Debug, Default)]
pub struct Networks {
    entries: Vec<(Cidr, Kind)>,
}

#[derive(Debug)]
enum Kind {
    Cloud,
    Verifies(String),
}

/// A network: an address and the number of its leading bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    bits: u128,
    length: u32,
    v4: bool,
}

impl Cidr {
    /// `ADDRESS/BITS`, or an address alone; none when it is neither.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let (bits, v4) = bits(address.parse().ok()?);
        let whole = if v4 { 32 } else { 128 };
        let length = length.unwrap_or(whole);
        (length <= whole).then_some(Self { bits, length: length + 128 - whole, v4 })
    }

    /// True for an address of the network.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let (bits, v4) = bits(address);
        let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or(0);
        v4 == self.v4 && (bits ^ self.bits) & mask == 0
    }
}

/// The 128 bits of an address, those of IPv4 at the end.
fn bits(address: IpAddr) -> (u128, bool) {
    match address.to_canonical() {
        IpAddr::V4(address) => (u128::from(u32::from(address)), true),
        IpAddr::V6(address) => (u128::from(address), false),
    }
}

impl Networks {
    /// Reads a file of networks; bad lines are rejected with their number.
    #[must_use]
    pub fn parse(text: &str) -> (Self, Vec<RejectedLine>) {
        let (mut networks, mut rejected) = (Self::default(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            match entry(content) {
                Ok(entry) => networks.entries.push(entry),
                Err(why) => {
                    let (line, text, why) = (at + 1, line.to_owned(), why.to_owned());
                    rejected.push(RejectedLine { line, text, why });
                }
            }
        }
        (networks, rejected)
    }

    /// True for an address of a data centre.
    #[must_use]
    pub fn is_cloud(&self, address: IpAddr) -> bool {
        let cloud =
            |(cidr, kind): &(Cidr, Kind)| matches!(kind, Kind::Cloud) && cidr.contains(address);
        self.entries.iter().any(cloud)
    }

    /// True when the address is in a network of the robot that the user agent names.
    #[must_use]
    pub fn verifies(&self, address: IpAddr, user_agent: &str) -> bool {
        let agent = fold(user_agent);
        self.entries.iter().any(|(cidr, kind)| match kind {
            Kind::Verifies(word) => cidr.contains(address) && agent.contains(word),
            Kind::Cloud => false,
        })
    }
}

fn entry(line: &str) -> Result<(Cidr, Kind), &'static str> {
    let mut words = line.split_whitespace();
    let cidr = words.next().and_then(Cidr::parse).ok_or("expected a network such as 10.0.0.0/8")?;
    match (words.next(), words.collect::<Vec<_>>().join(" ")) {
        (Some("cloud"), _) => Ok((cidr, Kind::Cloud)),
        (Some("verifies"), word) if !word.is_empty() => Ok((cidr, Kind::Verifies(fold(&word)))),
        _ => Err("expected `cloud` or `verifies WORD` after the network"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_networks() {
        for (network, address, found) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/48", "2001:db8:0:ffff::1", true),
            ("2001:db8::/48", "2001:db8:1::1", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
        ] {
            let cidr = Cidr::parse(network).unwrap();
            assert_eq!(cidr.contains(address.parse().unwrap()), found, "{network} {address}");
        }
        assert!(Cidr::parse("10.0.0.0/33").is_none() && Cidr::parse("x").is_none());
    }

    #[test]
    fn a_file_says_what_networks_are() {
        let text = "# own\n10.0.0.0/8 cloud\n192.0.2.0/24 verifies Googlebot\nx cloud\n1.1.1.1 y\n";
        let (networks, rejected) = Networks::parse(text);
        assert_eq!(rejected.iter().map(|line| line.line).collect::<Vec<_>>(), [4, 5]);
        assert!(networks.is_cloud("10.1.2.3".parse().unwrap()));
        let address = "192.0.2.77".parse().unwrap();
        assert!(networks.verifies(address, "x GOOGLEBOT/2.1") && !networks.verifies(address, "x"));
    }
}
