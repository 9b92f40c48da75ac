//! Events of Google Analytics 4 as BigQuery exports them to JSON lines. A visit is what events of one
//! `user_pseudo_id` with one `ga_session_id` have in common. The export has no user agents.

use std::borrow::Cow;

use super::hit::{Hit, HitKind, Hits, digest};
use crate::import::batch::{Batch, PlaceFacts};
use crate::import::xdb::path_of;
use crate::json::{Leaf, Problem, decode, leaves};
use crate::schema::TermKind;
use crate::values::{is_plausible, whole};

/// What an event says.
#[derive(Debug, Default)]
struct Event<'a> {
    micros: Option<i64>,
    name: Cow<'a, str>,
    user: Cow<'a, str>,
    session: Cow<'a, str>,
    page: Cow<'a, str>,
    language: Cow<'a, str>,
    engaged: Option<i64>,
    country: Cow<'a, str>,
    region: Cow<'a, str>,
    city: Cow<'a, str>,
    device: Cow<'a, str>,
    campaign: Cow<'a, str>,
    /// The parameter that is being read: its name and its value, in any order.
    key: Option<Cow<'a, str>>,
    value: Option<Cow<'a, str>>,
}

/// Reads the events of a chunk.
pub(crate) fn read_ga4(chunk: &[u8]) -> Hits {
    let mut out = Hits::default();
    let mut path = String::new();
    for line in chunk.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        out.lines.rows += 1;
        let mut event = Event::default();
        let read = leaves(line, &mut path, &mut |path, leaf| event.take(path, leaf));
        let result = match read {
            Ok(()) => add(line, &event, &mut out),
            Err(Problem::Truncated) => Err("the JSON ends in the middle of a value"),
            Err(_) => Err("the line is no JSON object"),
        };
        if let Err(reason) = result {
            let row = out.lines.rows;
            out.lines.reject(row, reason, line);
        }
    }
    out
}

impl<'a> Event<'a> {
    fn take(&mut self, path: &str, leaf: Leaf<'a>) {
        let text = match leaf {
            Leaf::Object => {
                if path == "event_params" {
                    (self.key, self.value) = (None, None);
                }
                return;
            }
            Leaf::Plain(b"null") => return,
            Leaf::Text(string) => decode(string).0,
            Leaf::Plain(raw) => String::from_utf8_lossy(raw),
        };
        match path {
            "event_timestamp" => self.micros = whole(text.as_bytes()),
            "event_name" => self.name = text,
            "user_pseudo_id" => self.user = text,
            "geo.country" => self.country = text,
            "geo.region" => self.region = text,
            "geo.city" => self.city = text,
            "device.category" => self.device = text,
            "device.language" => self.language = text,
            "collected_traffic_source.manual_campaign_name" => self.campaign = text,
            "traffic_source.name" if self.campaign.is_empty() => self.campaign = text,
            "event_params.key" => self.parameter(Some(text), None),
            path if path.starts_with("event_params.value.") => self.parameter(None, Some(text)),
            _ => {}
        }
    }

    fn parameter(&mut self, key: Option<Cow<'a, str>>, value: Option<Cow<'a, str>>) {
        self.key = key.or(self.key.take());
        self.value = value.or(self.value.take());
        let Some((key, value)) = self.key.as_deref().zip(self.value.clone()) else { return };
        match key {
            "ga_session_id" => self.session = value,
            "page_location" => self.page = value,
            "engagement_time_msec" => self.engaged = whole(value.as_bytes()),
            _ => {}
        }
    }
}

fn add(line: &[u8], event: &Event<'_>, out: &mut Hits) -> Result<(), &'static str> {
    let micros = event.micros.unwrap_or(0);
    let ms = event.micros.map(|micros| micros.div_euclid(1000)).filter(|ms| is_plausible(*ms));
    let ms = ms.ok_or("the event has no `event_timestamp`")?;
    if event.name.is_empty() {
        return Err("the event has no `event_name`");
    }
    let lines = &mut out.lines;
    // Events of people who did not agree to be counted belong to no visit.
    if event.user.is_empty() || event.session.is_empty() {
        lines.without_visit += 1;
        return Ok(());
    }
    let some = |text: &Cow<'_, str>| {
        Some(text.as_ref()).filter(|text| !text.is_empty() && *text != "(not set)").map(Box::from)
    };
    let place = PlaceFacts {
        country: some(&event.country),
        region: some(&event.region),
        city: some(&event.city),
        ..PlaceFacts::default()
    };
    let mut term = |kind, text: &Cow<'_, str>| {
        let text: Option<Box<str>> = some(text);
        text.map(|text| lines.term(kind, &text))
    };
    let device = term(TermKind::Device, &event.device);
    let campaign = term(TermKind::Campaign, &event.campaign);
    let language = term(TermKind::Language, &event.language);
    let duration = event.engaged.and_then(|ms| u32::try_from(ms).ok());
    let kind = kind(event, language, lines);
    let session = format!("{} {}", event.user, event.session);
    out.hits.push(Hit {
        row: lines.rows,
        ms,
        bytes: u32::try_from(line.len()).unwrap_or(u32::MAX),
        session: out.sessions.number(&session),
        contact: out.contacts.number(&event.user),
        agent: None,
        address: None,
        place: lines.place(&place),
        campaign,
        device,
        kind,
        duration,
        order: micros.cast_unsigned(),
        identity: digest(line),
        digest: digest(line),
    });
    Ok(())
}

/// What an event is.
fn kind(event: &Event<'_>, language: Option<u32>, lines: &mut Batch) -> HitKind {
    match &*event.name {
        "page_view" | "screen_view" => {
            let path = Some(&*event.page).filter(|page| !page.is_empty()).map(path_of);
            HitKind::View(path.map(|path| lines.paths.number(path)), language)
        }
        "purchase" | "in_app_purchase" | "ecommerce_purchase" => {
            HitKind::Outcome(lines.term(TermKind::EventType, &event.name))
        }
        "generate_lead" | "sign_up" | "conversion" => {
            HitKind::Goal(lines.term(TermKind::EventType, &event.name))
        }
        name => HitKind::Event(lines.term(TermKind::EventType, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: &str = r#"{"event_date":"20261128","event_timestamp":"1795907534534000","event_name":"page_view","event_params":[{"key":"page_location","value":{"string_value":"https://www.site.example/a?b"}},{"value":{"string_value":null,"int_value":"77","float_value":null},"key":"ga_session_id"},{"key":"engagement_time_msec","value":{"int_value":"1200"}}],"user_pseudo_id":"1.2","geo":{"country":"Ukraine","city":"(not set)","region":"Dnipropetrovsk"},"device":{"category":"mobile","language":"uk"},"traffic_source":{"name":"spring"}}"#;

    #[test]
    fn a_visit_is_named_by_user_and_session() {
        let purchase = VIEW.replace("page_view", "purchase");
        let nobody = VIEW.replace("\"1.2\"", "null");
        let timeless = VIEW.replace("event_timestamp", "other");
        let read = read_ga4(
            [VIEW, &purchase, &nobody, &timeless, &VIEW[..90], "[]"].join("\n").as_bytes(),
        );
        let hit = &read.hits[0];
        assert_eq!((hit.ms, hit.duration), (1_795_907_534_534, Some(1200)));
        assert_eq!((&*read.sessions.words[0], &*read.contacts.words[0]), ("1.2 77", "1.2"));
        assert_eq!(&*read.lines.paths.words[0], "/a");
        let place = &read.lines.place_facts[0];
        assert_eq!((place.country.as_deref(), place.city.as_deref()), (Some("Ukraine"), None));
        assert!(matches!(read.hits[1].kind, HitKind::Outcome(_)));
        assert_eq!((read.hits.len(), read.lines.without_visit), (2, 1));
        let reasons: Vec<_> = read.lines.rejects.iter().map(|one| (one.row, one.reason)).collect();
        assert_eq!(
            reasons,
            [
                (4, "the event has no `event_timestamp`"),
                (5, "the JSON ends in the middle of a value"),
                (6, "the line is no JSON object"),
            ]
        );
    }
}
