//! `config prove` as text.

use culprit_config::{CodePlace, Grade, Observation, Proof, VariableProof};

use culprit_model::clean;

use crate::layout::{Align, Layout, Table, wrap};

/// What `config prove` prints; everything with `all`.
pub fn proof(proof: &Proof, all: bool, layout: &Layout) -> String {
    let paint = layout.paint();
    let runs = if proof.rounds == 1 { "" } else { " each run" };
    let mut text = format!("{}\n", paint.heading(&clean(&proof.subject)));
    let watched = if proof.armed.is_empty() { "none".to_owned() } else { proof.armed.join(", ") };
    text.push_str(&wrap(&clean(&format!("Watched values: {watched}")), layout.width(), ""));
    if proof.rounds > 1 {
        text.push_str(&format!(
            "The command ran {} times, with other values{runs}.\n",
            proof.rounds
        ));
    }
    text.push_str(&format!("\n{}", variables(proof, all, layout)));
    text.push_str(&hidden(proof, all, layout));
    text.push_str(&copies(proof, layout));
    if all {
        text.push_str(&files(proof, layout));
    }
    text.push_str(&findings(proof, layout));
    text.push_str(&gaps(proof, layout));
    text
}

fn variables(proof: &Proof, all: bool, layout: &Layout) -> String {
    let shown = |one: &&VariableProof| {
        all || proof.armed.contains(&one.name)
            || !matches!(one.grade, Grade::PresentOnly | Grade::CopiedWithAll)
    };
    let rows: Vec<&VariableProof> = proof.variables.iter().filter(shown).collect();
    let mut text = if rows.is_empty() {
        "No variable that is set was read or watched.\n".to_owned()
    } else {
        table(proof, &rows).render(layout.width())
    };
    let more = proof.variables.len() - rows.len();
    if more > 0 {
        text.push_str(&format!(
            "{more} other variables are set, and nothing is known of them (`--all` lists them).\n"
        ));
    }
    text
}

fn table(proof: &Proof, rows: &[&VariableProof]) -> Table {
    let mut table = Table::new(&[
        ("variable", Align::Left),
        ("grade", Align::Left),
        ("count", Align::Right),
        ("first reader", Align::Left),
        ("process", Align::Left),
    ]);
    for one in rows {
        let first = one.observations.first().and_then(|at| proof.observations.get(*at));
        let reader = first.map_or_else(String::new, reader);
        let process = first.map_or_else(String::new, |row| process(proof, row.program));
        let count = if one.count == 0 { "-".to_owned() } else { one.count.to_string() };
        let cells = [one.name.clone(), one.grade.to_string(), count, reader, process];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    table.whole()
}

fn reader(row: &Observation) -> String {
    let place = row.first.as_ref().map(place).unwrap_or_default();
    match (place.is_empty(), row.through.is_empty()) {
        (false, false) => format!("{place} ({})", row.through),
        (true, false) => row.through.clone(),
        (_, true) => place,
    }
}

fn place(place: &CodePlace) -> String {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    match (file.is_empty(), place.line) {
        (true, _) => place.function.clone(),
        (false, 0) => format!("{} {file}", place.function),
        (false, line) => format!("{} {file}:{line}", place.function),
    }
}

fn process(proof: &Proof, program: usize) -> String {
    proof.programs.get(program).map_or_else(String::new, |one| {
        let name = one.command.split(' ').next().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        format!("{name} ({})", one.pid)
    })
}

fn hidden(proof: &Proof, all: bool, layout: &Layout) -> String {
    let own = |one: &&VariableProof| {
        let found = proof.findings.iter().any(|finding| finding.key == one.name);
        all || found || one.grade == Grade::EffectiveDump
    };
    let rows: Vec<&VariableProof> = proof.hidden.iter().filter(own).collect();
    let more = proof.hidden.len() - rows.len();
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str("\nAsked for, and not set\n");
        text.push_str(&table(proof, &rows).render(layout.width()));
    }
    if more > 0 {
        text.push_str(&format!(
            "{more} other names that are not set were asked for by libraries (`--all` lists them).\n"
        ));
    }
    text
}

/// Programs whose runtime copies all variables.
fn copies(proof: &Proof, layout: &Layout) -> String {
    let copying = proof.programs.iter().enumerate().filter(|(_, one)| one.watch.copies_block);
    let names: Vec<String> = copying.map(|(at, _)| process(proof, at)).collect();
    if names.is_empty() {
        return String::new();
    }
    let said = format!(
        "Copies all variables: {}. A value that nobody asked for by name is `copied_with_all` there.",
        names.join(", ")
    );
    format!("\n{}", wrap(&clean(&said), layout.width(), ""))
}

fn files(proof: &Proof, layout: &Layout) -> String {
    if proof.files.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("file", Align::Left),
        ("opened", Align::Right),
        ("missing", Align::Right),
        ("refused", Align::Right),
        ("bytes read", Align::Right),
        ("process", Align::Left),
    ]);
    for one in &proof.files {
        let counts = [one.opened, one.missing, one.refused, one.bytes_read].map(|n| n.to_string());
        let cells = [vec![one.path.clone()], counts.to_vec(), vec![process(proof, one.program)]];
        table.row(cells.concat().iter().map(|cell| clean(cell).into_owned()));
    }
    format!("\nFiles\n{}", table.whole().render(layout.width()))
}

fn findings(proof: &Proof, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = String::new();
    for finding in &proof.findings {
        let severity = paint.severity(finding.severity, &format!("{:<6}", finding.severity));
        let places = finding.evidence.join(", ");
        text.push_str(&format!("\n{severity} {}  {}\n", finding.id, clean(&places)));
        let said = format!("{} {}", finding.title, finding.why);
        text.push_str(&wrap(&clean(&said), layout.width(), "       "));
        for fix in &finding.fix {
            text.push_str(&wrap(&clean(&format!("- {fix}")), layout.width(), "       "));
        }
    }
    text
}

fn gaps(proof: &Proof, layout: &Layout) -> String {
    if proof.gaps.is_empty() {
        return String::new();
    }
    let mut text = "\nNot observed:\n".to_owned();
    for gap in &proof.gaps {
        let next =
            if gap.next.is_empty() { String::new() } else { format!(" Next: {}.", gap.next) };
        text.push_str(&wrap(
            &clean(&format!("- {}: {}.{next}", gap.kind, gap.why)),
            layout.width(),
            "  ",
        ));
    }
    text
}
