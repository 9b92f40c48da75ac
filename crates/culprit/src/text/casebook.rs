//! Cases as text.

use culprit_report::text::{Detail, findings_text};

use crate::casebook::{Case, Course, Told};
use crate::commands::Became;
use crate::output::{Align, Output, Table, clean, wrap};

/// All cases with what is missing for each.
pub(crate) fn list_text(cases: &[(Case, Vec<String>)], output: &Output) -> String {
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
    let mut text = table.render(output.width());
    for (case, missing) in cases.iter().filter(|(_, missing)| !missing.is_empty()) {
        text.push_str(&clean(&format!("{} needs {}\n", case.name, missing.join(", "))));
        text.push('\n');
    }
    text
}

/// A case's story, its fix and its commands.
pub(crate) fn case_text(case: &Case, missing: &[String], output: &Output) -> String {
    let paint = output.paint();
    let mut text = format!("{}  {}\n", paint.heading(&clean(&case.name)), clean(&case.title));
    let mut part = |name: &str, content: &str| {
        text.push_str(&format!("\n{}\n", paint.strong(name)));
        text.push_str(&wrap(&clean(content), output.width(), "  "));
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
        text.push_str(&wrap(&clean(&line), output.width(), "  "));
    }
    if !missing.is_empty() {
        let line = format!("Missing on this machine: {}", missing.join(", "));
        text.push_str(&format!("\n{}", wrap(&clean(&line), output.width(), "")));
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the runs or answers of a case show.
pub(crate) fn casebook_text(case: &Case, told: &Told, output: &Output) -> String {
    let paint = output.paint();
    let word = match told.as_expected() {
        true => paint.good("as expected"),
        false => paint.bad("not as expected"),
    };
    head_text(case, &word, output) + &measured_text(told, output)
}

fn head_text(case: &Case, word: &str, output: &Output) -> String {
    let name = output.paint().heading(&clean(&case.name));
    format!("{name}  {word}\n{}", wrap(&clean(&case.title), output.width(), ""))
}

/// What became of a case that was to be run.
pub(crate) fn told_text(case: &Case, became: &Became, output: &Output) -> String {
    let paint = output.paint();
    let mut text = match became {
        Became::Told(told) => casebook_text(case, told, output),
        Became::Skipped(missing) => {
            let missing = format!("Missing on this machine: {}", missing.join(", "));
            format!("{}{}\n", head_text(case, &paint.strong("skipped"), output), clean(&missing))
        }
        Became::Failed(failure) => {
            head_text(case, &paint.bad("failed"), output)
                + &wrap(&clean(&failure.to_string()), output.width(), "")
        }
    };
    text.push('\n');
    text
}

fn measured_text(told: &Told, output: &Output) -> String {
    let paint = output.paint();
    let mut text = String::from("\n");
    if let Some(at) = told.culprit {
        text.push_str(&findings_text(&told.findings[at..=at], Detail::Culprit, output.layout()));
    }
    if let Some(sentence) = &told.sentence {
        text.push_str(&wrap(&clean(sentence), output.width(), ""));
    }
    for (line, _) in &told.answers {
        text.push_str(&paint.faint(&format!("  {}\n", clean(line))));
    }
    for check in &told.checks {
        let mark = if check.held { paint.good("yes") } else { paint.bad("NO ") };
        let line = clean(&check.told).into_owned();
        let wrapped = wrap(&line, output.width(), "                              ");
        text.push_str(&format!("  {mark}  {:<23}  {}", check.id, wrapped.trim_start()));
    }
    if let Some(recordings) = &told.recordings {
        text.push_str(&paint.faint(&format!("Recordings: {}\n", recordings.display())));
    }
    text
}
