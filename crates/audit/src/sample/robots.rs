//! Kinds of robots, and programs that only look like robots.

use serde::Serialize;

/// Who made a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visitor {
    /// A person.
    Human,
    /// Many addresses of one network, one page each, no cookie, asks for `/robots.txt`.
    Fleet,
    /// The same with a user agent whose blacklist entry differs in case only.
    LeakedFleet,
    /// The user agent of a browser, but no image, style or script is ever loaded.
    FakeBrowser,
    /// One address that comes at equal intervals.
    Poller,
    /// A search engine's robot from its published network.
    Search,
    /// Many pages in one visit, less than a second apart.
    Crawler,
    /// A server that reports events with an HTTP library. It is no robot.
    ServerSide,
}

impl Visitor {
    /// True for those that reports should not count.
    #[must_use]
    pub fn is_robot(self) -> bool {
        !matches!(self, Self::Human | Self::ServerSide)
    }
}

/// One program.
#[derive(Debug)]
pub(crate) struct Robot {
    pub(crate) kind: Visitor,
    pub(crate) user_agent: &'static str,
    /// The first three bytes of its addresses, and how many networks follow one another.
    pub(crate) network: [u8; 3],
    pub(crate) networks: u64,
    /// Its part of the robots' visits, relative to the others.
    pub(crate) weight: u64,
}

/// The robots of a sample.
pub(crate) static ROBOTS: &[Robot] = &[
    Robot {
        kind: Visitor::Fleet,
        user_agent: "Mozilla/5.0 (Windows NT 5.1; rv:6.0.2) Gecko/20100101 Firefox/6.0.2",
        network: [172, 20, 0],
        networks: 60,
        weight: 20,
    },
    Robot {
        kind: Visitor::Fleet,
        user_agent: "AcmeSpider/2.0 (+http://spider.example/about)",
        network: [172, 21, 0],
        networks: 40,
        weight: 12,
    },
    Robot {
        kind: Visitor::LeakedFleet,
        user_agent: "Mozilla/5.0 (compatible; IndexCrawl/1.4; +http://indexcrawl.example/bot.html)",
        network: [172, 22, 0],
        networks: 40,
        weight: 14,
    },
    Robot {
        kind: Visitor::FakeBrowser,
        user_agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0.3029.110 Safari/537.36",
        network: [172, 23, 0],
        networks: 120,
        weight: 18,
    },
    Robot {
        kind: Visitor::Poller,
        user_agent: "ExampleMonitor/3.1",
        network: [203, 0, 113],
        networks: 1,
        weight: 12,
    },
    Robot {
        kind: Visitor::Search,
        user_agent: "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        network: [192, 0, 2],
        networks: 1,
        weight: 14,
    },
    Robot {
        kind: Visitor::Crawler,
        user_agent: "Scrapy/2.13 (+https://scrapy.org)",
        network: [198, 51, 100],
        networks: 1,
        weight: 10,
    },
];

/// The server that reports events; 1 % of the visits that are not robots'.
pub(crate) static SERVER_SIDE: Robot = Robot {
    kind: Visitor::ServerSide,
    user_agent: "Go-http-client/2.0",
    network: [100, 64, 0],
    networks: 1,
    weight: 1,
};

/// The site's list of robots: exact user agents, one of which differs from the real one in case,
/// one of which never occurs.
pub(crate) const BLACKLIST: &[&str] = &[
    "acmespider/1.0",
    "mozilla/5.0 (compatible; indexcrawl/1.4; +http://indexcrawl.example/bot.html)",
    "OldCrawler/0.9 (never seen again)",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
];

/// The entries of the list that would match a robot if case were ignored.
pub(crate) fn leaked() -> Vec<String> {
    let misses = |entry: &&&str| {
        let folded = entry.to_lowercase();
        ROBOTS.iter().any(|r| r.user_agent != **entry && r.user_agent.to_lowercase() == folded)
    };
    BLACKLIST.iter().filter(misses).map(|entry| (*entry).to_owned()).collect()
}
