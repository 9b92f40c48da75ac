//! One line of each form of logs and events.

use std::io::Write as _;

use super::SampleFormat;
use super::export::{put_guid, put_json_text};
use super::log::SITE;
use super::visit::{View, Visit};
use crate::time::{DAY_MS, date, put_clock, put_date};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Columns of Snowplow's canonical events.
const SNOWPLOW_COLUMNS: usize = 131;

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) at: i64,
    pub(super) path: &'a str,
    pub(super) referrer: &'a str,
}

/// What stands before the lines.
pub(super) fn header(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::Iis => {
            "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
             #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip \
             cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes time-taken\n"
        }
        SampleFormat::CloudFront => {
            "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) \
             cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query\n"
        }
        _ => "",
    }
}

/// Appends a request.
pub(super) fn put_request(
    out: &mut Vec<u8>,
    format: SampleFormat,
    visit: &Visit,
    shown: Shown<'_>,
) {
    let Shown { at, path, referrer } = shown;
    let [a, b, c, d] = visit.person.address;
    let agent = match visit.person.user_agent.as_str() {
        "" => "-",
        agent => agent,
    };
    let bytes = 900 + path.len() * 37;
    match format {
        SampleFormat::Iis => {
            put_moment(out, at, b' ');
            let (agent, referrer) = (agent.replace(' ', "+"), referrer.replace(' ', "+"));
            let _ = write!(
                out,
                " 10.0.0.1 GET {path} - 443 - {a}.{b}.{c}.{d} {agent} {referrer} 200 0 0 {bytes} 15"
            );
        }
        SampleFormat::CloudFront => {
            put_moment(out, at, b'\t');
            let (agent, referrer) = (agent.replace(' ', "%20"), referrer.replace(' ', "%20"));
            let _ = write!(
                out,
                "\tKBP50-P1\t{bytes}\t{a}.{b}.{c}.{d}\tGET\td1.cloudfront.net\t{path}\t200\t{referrer}\t\
                 {agent}\t-"
            );
        }
        SampleFormat::Elb => {
            out.extend_from_slice(b"https ");
            put_moment(out, at, b'T');
            let _ = write!(
                out,
                ".{:03}000Z app/site/50dc {a}.{b}.{c}.{d}:2817 10.0.0.1:80 0.001 0.040 0.000 200 200 34 \
                 {bytes} \"GET {SITE}:443{path} HTTP/1.1\" \"{agent}\" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2",
                at.rem_euclid(1000)
            );
        }
        SampleFormat::JsonLog => {
            out.extend_from_slice(b"{\"time_iso8601\":\"");
            put_moment(out, at, b'T');
            let _ = write!(
                out,
                "+00:00\",\"remote_addr\":\"{a}.{b}.{c}.{d}\",\"request_method\":\"GET\",\"request_uri\":\
                 \"{path}\",\"status\":200,\"body_bytes_sent\":{bytes},\"http_user_agent\":"
            );
            put_json_text(out, agent);
            out.push(b'}');
        }
        _ => {
            let day = date(at.div_euclid(DAY_MS));
            let month = MONTHS[usize::try_from(day.month - 1).unwrap_or(0)];
            let _ = write!(out, "{a}.{b}.{c}.{d} - - [{:02}/{month}/{}:", day.day, day.year);
            put_clock(out, at);
            let _ = write!(
                out,
                " +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"{referrer}\" \"{agent}\""
            );
        }
    }
}

fn put_moment(out: &mut Vec<u8>, ms: i64, between: u8) {
    put_date(out, ms);
    out.push(between);
    put_clock(out, ms);
}

/// Appends a page view as an event.
pub(super) fn put_event(out: &mut Vec<u8>, format: SampleFormat, visit: &Visit, view: &View) {
    let (mut session, mut user) = (Vec::new(), Vec::new());
    put_guid(&mut session, visit.guid);
    put_guid(&mut user, visit.person.guid);
    let (session, user) = (String::from_utf8_lossy(&session), String::from_utf8_lossy(&user));
    match format {
        SampleFormat::SnowplowTsv => put_snowplow(out, visit, view, (&session, &user)),
        _ => put_ga4(out, visit, view, &user),
    }
}

fn put_snowplow(out: &mut Vec<u8>, visit: &Visit, view: &View, (session, user): (&str, &str)) {
    let [a, b, c, d] = visit.person.address;
    let mut moment = Vec::new();
    put_moment(&mut moment, view.at, b' ');
    let _ = write!(moment, ".{:03}", view.at.rem_euclid(1000));
    let moment = String::from_utf8_lossy(&moment);
    for column in 0..SNOWPLOW_COLUMNS {
        if column > 0 {
            out.push(b'\t');
        }
        let _ = match column {
            0 => write!(out, "site"),
            1 => write!(out, "web"),
            3 | 124 => write!(out, "{moment}"),
            5 | 126 => write!(out, "page_view"),
            13 => write!(out, "{a}.{b}.{c}.{d}"),
            15 => write!(out, "{user}"),
            18 => write!(out, "{}", visit.person.city.country),
            20 => write!(out, "{}", visit.person.city.name),
            21 => write!(out, "{}", visit.person.postal),
            29 => write!(out, "{SITE}{}", view.page),
            35 => write!(out, "{}", view.page),
            77 => write!(out, "{}", visit.person.user_agent),
            123 => write!(out, "{session}"),
            _ => Ok(()),
        };
    }
}

fn put_ga4(out: &mut Vec<u8>, visit: &Visit, view: &View, user: &str) {
    let city = visit.person.city;
    let _ = write!(
        out,
        "{{\"event_timestamp\":\"{}000\",\"event_name\":\"page_view\",\"event_params\":[{{\"key\":\
         \"ga_session_id\",\"value\":{{\"int_value\":\"{}\"}}}},{{\"key\":\"page_location\",\"value\":\
         {{\"string_value\":\"{SITE}{}\"}}}}],\"user_pseudo_id\":\"{user}\",\"geo\":{{\"country\":\"{}\",\"city\":",
        view.at, visit.number, view.page, city.country
    );
    put_json_text(out, city.name);
    out.extend_from_slice(b"}}");
}
