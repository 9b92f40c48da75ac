//! A value has the form of a time or date, and the invariant culture does not read it so.
//!
//! `TimeSpan.Parse` takes `[-][d.]hh:mm[:ss[.fffffff]]`, or days alone; hours up to 23, minutes and
//! seconds up to 59. `DateTime.Parse` with the invariant culture has the month first.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};

pub(super) const ID: &str = "config-culture-parse";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    if !configuration.invariant_culture {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for effective in &configuration.effective {
        let Some(winner) = effective.winner.map(|at| &configuration.assignments[at]) else {
            continue;
        };
        let Some((what, form)) = winner.value.text.as_deref().and_then(problem) else { continue };
        findings.push(ConfigFinding {
            id: ID,
            severity: Severity::Medium,
            key: effective.key.to_string(),
            concerns: Vec::new(),
            title: format!("The value of `{}` {what}.", effective.key),
            evidence: vec![configuration.place(winner)],
            why: "The invariant culture refuses it, or the language of the user decides."
                .to_owned(),
            fix: vec![format!("Write it as `{form}`.")],
        });
    }
    findings
}

/// What is wrong with a text, and the form that is read everywhere.
fn problem(text: &str) -> Option<(&'static str, &'static str)> {
    let text = text.trim();
    let is_of = |others: &str| text.chars().all(|c| c.is_ascii_digit() || others.contains(c));
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') || text.len() > 32 {
        return None;
    }
    if text.contains(':') && is_of(":.,-") {
        return time_span(text).map(|what| (what, "d.hh:mm:ss.fff"));
    }
    let parts: Vec<&str> = text.split(['.', '/']).collect();
    let [day, month, year] = parts.as_slice() else { return None };
    let number = |part: &str| part.parse::<u32>().ok();
    let is_day_first = is_of("./")
        && year.len() == 4
        && number(day).is_some_and(|day| (13..=31).contains(&day))
        && number(month).is_some_and(|month| (1..=12).contains(&month));
    is_day_first.then_some(("is a date with its day first", "yyyy-MM-dd"))
}

fn time_span(text: &str) -> Option<&'static str> {
    let text = text.strip_prefix('-').unwrap_or(text);
    let parts: Vec<&str> = text.split(':').collect();
    // Addresses and ports, versions of protocols: not of this form.
    if !(2..=4).contains(&parts.len()) || text.matches(',').count() > 1 {
        return None;
    }
    if text.contains(',') {
        let is_fraction = parts.last().is_some_and(|last| last.contains(','));
        return is_fraction.then_some("is a time span with a decimal comma");
    }
    if parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    // `d:hh:mm:ss` is read, too.
    let (hours, rest) = match parts.as_slice() {
        [_, hours, rest @ ..] if parts.len() == 4 => (*hours, rest),
        [hours, rest @ ..] => (hours.rsplit_once('.').map_or(*hours, |(_, hours)| hours), rest),
        [] => return None,
    };
    let above = |part: &str, most: u32| part.parse::<u32>().is_ok_and(|value| value > most);
    if parts.len() == 2 && above(hours, 23) {
        // `8080:80` is a pair of ports.
        return None;
    }
    if above(hours, 23) {
        return Some("is a time span with more than 23 hours");
    }
    let minute = |part: &&str| above(part.split('.').next().unwrap_or_default(), 59);
    if parts.len() > 2 && rest.iter().any(minute) {
        return Some("is a time span with more than 59 minutes or seconds");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_the_invariant_culture_does_not_read_are_found() {
        for text in ["24:00:00", "1.25:00:00", "00:60:00", "00:00:01,5", "31.12.2024", "31/12/2024"]
        {
            assert!(problem(text).is_some(), "{text}");
        }
        for text in [
            "00.00:05:00",
            "1.02:03:04.5",
            "-00:05",
            "8080:80",
            "12/31/2024",
            "1,5",
            "10.0.0.1",
            "::1",
            "1.2.3",
            "2024-12-31",
            "127.0.0.1:8080",
            "1:2:3:4",
            "a:b",
        ] {
            assert_eq!(problem(text), None, "{text}");
        }
    }
}
