//! Cases as text.

use culprit_experiment::casebook::{Case, CaseOutcome, CaseResult, Course};
use culprit_model::{Nanos, clean};

use crate::layout::{Align, Layout, Table, wrap};
use crate::text::{ComparedSides, Detail, compared, findings_text};

/// All cases with what is missing for each.
pub fn cases_text(cases: &[(Case, Vec<String>)], layout: &Layout) -> String {
    let mut table = Table::new(&[
        ("case", Align::Left),
        ("detected by", Align::Left),
        ("runs here", Align::Left),
        ("what is slow", Align::Left),
    ]);
    for (case, missing) in cases {
        table.row([
            clean(&case.name).into_owned(),
            case.expects(),
            if missing.is_empty() { "yes".to_owned() } else { "no".to_owned() },
            clean(&case.title).into_owned(),
        ]);
    }
    let mut text = table.render(layout.width());
    for (case, missing) in cases.iter().filter(|(_, missing)| !missing.is_empty()) {
        text.push_str(&clean(&format!("{} needs {}\n", case.name, missing.join(", "))));
        text.push('\n');
    }
    text
}

/// A case's story, its fix and its commands.
pub fn case_text(case: &Case, missing: &[String], layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = format!("{}  {}\n", paint.heading(&clean(&case.name)), clean(&case.title));
    let mut part = |name: &str, content: &str| {
        text.push_str(&format!("\n{}\n", paint.strong(name)));
        text.push_str(&wrap(&clean(content), layout.width(), "  "));
    };
    part("Story", &one_line(&case.story));
    part("Fix", &one_line(&case.fix));
    let said = |argv: &Vec<String>| argv.join(" ");
    let mut commands: Vec<(&str, String)> =
        case.build.iter().map(|argv| ("build", said(argv))).collect();
    let mut expected = Vec::new();
    match &case.course {
        Course::Pair(pair) => {
            commands.push(("guilty", said(&pair.guilty.command)));
            commands.push(("fixed", said(&pair.fixed.command)));
            let function = pair.guilty.function.as_ref();
            let at = function.map_or_else(String::new, |name| format!(" in {name}"));
            let place = pair.places.last().map_or("host", String::as_str);
            expected.push(format!("{}{at}, in {place}", pair.guilty.finding));
        }
        Course::Questions(questions) => {
            for question in questions {
                commands.extend(question.before.iter().map(|argv| ("before", said(argv))));
                commands.push(("ask", question.line()));
                expected.extend(question.expect.iter().map(|expected| expected.says.clone()));
            }
        }
    }
    commands.extend(case.clean.iter().map(|argv| ("clean", said(argv))));
    text.push_str(&format!("\n{}\n", paint.strong("Commands")));
    for (name, line) in commands {
        text.push_str(&format!("  {name:<7} {}\n", clean(&line)));
    }
    text.push_str(&format!("\n{}\n", paint.strong("Expected result")));
    for line in expected {
        text.push_str(&wrap(&clean(&line), layout.width(), "  "));
    }
    if !missing.is_empty() {
        let line = format!("Missing on this machine: {}", missing.join(", "));
        text.push_str(&format!("\n{}", wrap(&clean(&line), layout.width(), "")));
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the runs or answers of a case show.
pub fn casebook_text(case: &Case, result: &CaseResult, layout: &Layout) -> String {
    let paint = layout.paint();
    let word = match result.as_expected() {
        true => paint.good("as expected"),
        false => paint.bad("not as expected"),
    };
    head_text(case, &word, layout) + &measured_text(result, layout)
}

fn head_text(case: &Case, word: &str, layout: &Layout) -> String {
    let name = layout.paint().heading(&clean(&case.name));
    format!("{name}  {word}\n{}", wrap(&clean(&case.title), layout.width(), ""))
}

/// What became of a case that was to be run.
pub fn case_outcome_text(case: &Case, outcome: &CaseOutcome, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = match outcome {
        CaseOutcome::Measured(result) => casebook_text(case, result, layout),
        CaseOutcome::Skipped(missing) => {
            let missing = format!("Missing on this machine: {}", missing.join(", "));
            format!("{}{}\n", head_text(case, &paint.strong("skipped"), layout), clean(&missing))
        }
        CaseOutcome::Failed(error) => {
            head_text(case, &paint.bad("failed"), layout)
                + &wrap(&clean(&error.to_string()), layout.width(), "")
        }
    };
    text.push('\n');
    text
}

/// Fixed against guilty in words, by wall time: that is what a case is about.
#[must_use]
pub fn case_sentence(result: &CaseResult) -> Option<String> {
    let wall = |wall: Option<Nanos>| wall.unwrap_or_default().to_string();
    let sides = ComparedSides {
        here: "fixed",
        there: "guilty",
        told: (wall(result.medians.1), wall(result.medians.0)),
        option: "rounds",
        cpu_time: false,
    };
    Some(compared(&sides, result.ratio.as_ref()?))
}

fn measured_text(result: &CaseResult, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = String::from("\n");
    if let Some(at) = result.culprit {
        text.push_str(&findings_text(&result.findings[at..=at], Detail::Culprit, layout));
    }
    if let Some(sentence) = case_sentence(result) {
        text.push_str(&wrap(&clean(&sentence), layout.width(), ""));
    }
    for (line, _) in &result.answers {
        text.push_str(&paint.faint(&format!("  {}\n", clean(line))));
    }
    for check in &result.checks {
        let mark = if check.held { paint.good("yes") } else { paint.bad("NO ") };
        let line = clean(&check.seen).into_owned();
        let wrapped = wrap(&line, layout.width(), "                              ");
        text.push_str(&format!("  {mark}  {:<23}  {}", check.id, wrapped.trim_start()));
    }
    if let Some(recordings) = &result.recordings {
        text.push_str(&paint.faint(&format!("Recordings: {}\n", recordings.display())));
    }
    text
}
