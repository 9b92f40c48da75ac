//! What samples are made of: cities, user agents, paths. All addresses are of ranges that are
//! reserved for documentation, tests and private networks.

use chrono_tz::Tz;

/// A city that people visit from.
#[derive(Debug)]
pub(crate) struct City {
    pub(crate) country: &'static str,
    pub(crate) region: &'static str,
    pub(crate) name: &'static str,
    pub(crate) postal: &'static [&'static str],
    pub(crate) zone: Tz,
    /// Latitude and longitude as text.
    pub(crate) position: (&'static str, &'static str),
    pub(crate) language: &'static str,
    /// How often, relative to the others.
    pub(crate) weight: u64,
}

macro_rules! cities {
    ($($country:literal $region:literal $name:literal $postal:tt $zone:path, $lat:literal $lon:literal $language:literal $weight:literal;)+) => {
        &[$(City {
            country: $country,
            region: $region,
            name: $name,
            postal: &$postal,
            zone: $zone,
            position: ($lat, $lon),
            language: $language,
            weight: $weight,
        },)+]
    };
}

/// Cities of several countries. Dnipro and Angers have the postal code 49000 in common.
pub(crate) static CITIES: &[City] = cities! {
    "UA" "30" "Kyiv" ["01001", "02000", "03150"] Tz::Europe__Kyiv, "50.450100" "30.523400" "uk-UA" 22;
    "UA" "12" "Dnipro" ["49000", "49044"] Tz::Europe__Kyiv, "48.464700" "35.046200" "uk-UA" 14;
    "UA" "46" "Lviv" ["79000"] Tz::Europe__Kyiv, "49.839700" "24.029700" "uk-UA" 8;
    "FR" "PDL" "Angers" ["49000", "49100"] Tz::Europe__Paris, "47.478400" "-0.563200" "fr-FR" 4;
    "FR" "IDF" "Paris" ["75001", "75011"] Tz::Europe__Paris, "48.856600" "2.352200" "fr-FR" 7;
    "DE" "BE" "Berlin" ["10115", "10967"] Tz::Europe__Berlin, "52.520000" "13.405000" "de-DE" 9;
    "DE" "BY" "München" ["80331"] Tz::Europe__Berlin, "48.135100" "11.582000" "de-DE" 6;
    "GB" "ENG" "London" ["EC1A 1BB", "SW1A 1AA"] Tz::Europe__London, "51.507400" "-0.127800" "en-GB" 9;
    "US" "NY" "New York" ["10001", "11201"] Tz::America__New_York, "40.712800" "-74.006000" "en-US" 9;
    "US" "CA" "San Francisco" ["94103"] Tz::America__Los_Angeles, "37.774900" "-122.419400" "en-US" 6;
    "IN" "KA" "Bengaluru" ["560001"] Tz::Asia__Kolkata, "12.971600" "77.594600" "en-IN" 4;
    "JP" "13" "東京" ["100-0001"] Tz::Asia__Tokyo, "35.689500" "139.691700" "ja-JP" 2;
};

/// The city of data centres, where most robots come from.
pub(crate) static DATA_CENTRE: City = City {
    country: "US",
    region: "VA",
    name: "Ashburn",
    postal: &["20147"],
    zone: Tz::America__New_York,
    position: ("39.043800", "-77.487400"),
    language: "en-US",
    weight: 1,
};

/// Visits by hour of the local day, relative to each other.
pub(crate) const HOURS: [u64; 24] =
    [3, 2, 1, 1, 1, 2, 4, 8, 14, 20, 22, 21, 20, 21, 21, 20, 18, 17, 18, 20, 21, 18, 12, 6];
/// Visits by day of the week from Monday on, relative to each other.
pub(crate) const WEEKDAYS: [u64; 7] = [16, 17, 17, 16, 14, 10, 10];

/// User agents of people: `{}` is a version, from the first number on, as many as the second says.
pub(crate) const BROWSERS: &[(&str, u64, u64, u64)] = &[
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36",
        136,
        8,
        34,
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Mobile Safari/537.36",
        136,
        8,
        26,
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_{} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
        1,
        6,
        18,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.{} Safari/605.1.15",
        1,
        6,
        7,
    ),
    ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0", 138, 6, 6),
    ("Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0", 138, 6, 2),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{0}.0.0.0 Safari/537.36 Edg/{0}.0.0.0",
        136,
        8,
        6,
    ),
    (
        "Mozilla/5.0 (Linux; Android 13; SM-A{}5F) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36",
        13,
        40,
        4,
    ),
];

/// Pages of the site. The first is the entry.
pub(crate) const PAGES: &[&str] = &[
    "/",
    "/news",
    "/products",
    "/products/pumps",
    "/products/valves",
    "/products/pumps/p-100",
    "/products/pumps/p-200",
    "/products/valves/v-10",
    "/about",
    "/about/team",
    "/contact",
    "/careers",
    "/support",
    "/support/downloads",
    "/support/faq",
    "/search",
    "/blog",
    "/blog/2026/spring",
    "/blog/2026/summer",
    "/blog/2025/review",
    "/cart",
    "/checkout",
    "/checkout/thanks",
    "/privacy",
];
/// What a page needs besides itself.
pub(crate) const ASSETS: [&str; 4] =
    ["/static/site.css", "/static/site.js", "/static/logo.svg", "/static/hero.jpg"];

/// Where visits come from.
pub(crate) const REFERRERS: &[&str] = &[
    "",
    "",
    "https://search.example/results?q=pumps",
    "https://social.example/p/81723",
    "https://news.example/industry/2026/pumps-compared",
    "https://www.site.example/products",
];

/// Channels and goals.
pub(crate) const CHANNELS: [&str; 4] = [
    "b418e4f2-1013-4b42-a053-b6d4dca988bf",
    "b979a670-5aaf-4e63-94ac-c3c3e5bfbe84",
    "deaa8e15-3d1c-4a5a-8d3a-1f1d9f2d8a10",
    "52b75873-4ce0-4e98-b63a-b535739e6180",
];
/// Campaigns.
pub(crate) const CAMPAIGNS: [&str; 3] = [
    "94fd1606-139e-46ee-86ff-bc5bf3c79804",
    "0bf17c2b-7b0a-4ce9-9a1d-2d1a9a9cf5b1",
    "6a1b6bd1-0d3c-4c9b-8a4e-4a5b8d7e5f20",
];
/// Goals.
pub(crate) const GOALS: [&str; 2] =
    ["66722f52-2d13-4dcc-90fc-ea7117cf2298", "968897f1-328a-489d-88e8-be78f4370958"];
/// The outcome of a purchase.
pub(crate) const OUTCOME: &str = "9016e456-95cb-42e9-ad58-997d6d77ae83";
/// The device profiles: none, desktop, phone.
pub(crate) const DEVICES: [&str; 2] =
    ["7a0d5d3c-9d52-4d7a-b6a0-1f2b3c4d5e6f", "0e9a2b1c-3d4e-4f5a-8b6c-7d8e9f0a1b2c"];
