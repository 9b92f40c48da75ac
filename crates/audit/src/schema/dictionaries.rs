//! Dictionaries: every text stands once.

use culprit_model::{Text, labels, table};

use super::keys::{AddressKey, PathKey, PlaceKey, TermKey, UserAgentKey};

labels! {
    /// Where a place comes from.
    PlaceOrigin ("origin of a place") {
        /// The source stored it.
        Stored = "stored",
        /// Looked up in the file of `--geoip`.
        GeoIp = "geoip",
    }
}

labels! {
    /// What a term names.
    TermKind ("kind of term") {
        /// A channel.
        Channel = "channel",
        /// A campaign.
        Campaign = "campaign",
        /// A device profile.
        Device = "device",
        /// A type of events.
        EventType = "event-type",
        /// A definition of events.
        Definition = "definition",
        /// An item of the content.
        Item = "item",
        /// A language.
        Language = "language",
        /// A name of facets.
        FacetKey = "facet-key",
        /// A path inside of JSON.
        JsonPath = "json-path",
        /// Scheme and host of an address.
        Host = "host",
        /// What a value looks like.
        Junk = "junk",
    }
}

table! {
    /// A user agent as the source has it, ordered by key.
    UserAgent in "user_agents" {
        /// Its key.
        ua_id: UserAgentKey,
        /// The text, unchanged; invalid UTF-8 is replaced.
        text: Text,
    }
}

table! {
    /// A place, ordered by key. Two rows never agree in all columns but the key.
    StoredPlace in "places" {
        /// Its key.
        place_id: PlaceKey,
        /// Two letters (ISO 3166), in upper case where the source has two letters.
        country: Option<Text>,
        /// Region, as the source has it.
        region: Option<Text>,
        /// City, as the source has it.
        city: Option<Text>,
        /// Postal code, as the source has it. Two countries may have the same.
        postal: Option<Text>,
        /// Latitude in millionths of a degree.
        latitude_e6: Option<i64>,
        /// Longitude in millionths of a degree.
        longitude_e6: Option<i64>,
        /// Number of the network (AS).
        asn: Option<u32>,
        /// Organisation of the network.
        organisation: Option<Text>,
        /// Time zone (IANA).
        time_zone: Option<Text>,
        /// Where it comes from.
        origin: PlaceOrigin,
    }
}

table! {
    /// A path of page views without query, ordered by key.
    PathText in "paths" {
        /// Its key.
        path_id: PathKey,
        /// The path.
        text: Text,
    }
}

table! {
    /// An address of clients, ordered by key.
    Address in "addresses" {
        /// Its key.
        address_id: AddressKey,
        /// The address; none when it was imported with `--hash-ip`.
        text: Option<Text>,
        /// Its network: the first 24 bits of IPv4, 48 bits of IPv6, such as `203.0.113.0/24`; none
        /// when it was imported with `--hash-ip`, or is no address.
        network: Option<Text>,
        /// Hash of the address with the key of `--hash-ip`, else with the store's key.
        hash: u64,
        /// Hash of its network; addresses of one network have the same.
        network_hash: u64,
    }
}

table! {
    /// A word that other tables use, ordered by key.
    Term in "terms" {
        /// Its key.
        term_id: TermKey,
        /// What it names.
        kind: TermKind,
        /// The word; GUIDs in lower case without braces.
        text: Text,
    }
}
