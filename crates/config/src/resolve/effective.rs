//! The effective value of each key: which assignment wins, and why the others lose.

use std::collections::BTreeMap;

use crate::provenance::{Assignment, Certainty, Effective, Outcome, Source};

/// Whether a source that was not read may set a key, whose winner is in another source: the first source,
/// that of the winner, and the key.
pub(crate) type MaySet<'a> = dyn Fn(usize, Option<usize>, &str) -> bool + 'a;

/// Where sources stand in the order of their strength, every stronger one may set a key.
pub(crate) fn by_order(gap: usize, winner: Option<usize>, _: &str) -> bool {
    winner.is_none_or(|winner| gap > winner)
}

/// Groups assignments by key, weakest first, and says of each what became of it. `Won` marks those that
/// compete; the last of them wins.
pub(crate) fn effective(
    assumed: bool,
    sources: &[Source],
    assignments: &mut [Assignment],
    keys: Vec<String>,
    may_set: &MaySet<'_>,
) -> Vec<Effective> {
    let mut chains: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, key) in keys.into_iter().enumerate() {
        chains.entry(key).or_default().push(index);
    }
    let all_gaps: Vec<usize> =
        (0..sources.len()).filter(|at| sources[*at].state.is_gap()).collect();
    let mut effective: Vec<Effective> = Vec::new();
    for chain in chains.into_values() {
        let winner =
            chain.iter().rev().find(|at| assignments[**at].outcome == Outcome::Won).copied();
        if let Some(winner) = winner {
            chain.iter().for_each(|at| lose(assignments, *at, winner, sources));
        }
        let source = winner.map(|at| assignments[at].source);
        let key = chain.first().map(|at| assignments[*at].key.clone()).unwrap_or_default();
        let gap = all_gaps.iter().rev().copied().find(|gap| may_set(*gap, source, &key));
        let unknown = gap.is_some()
            || chain.iter().any(|at| {
                assignments[*at].outcome == Outcome::Unknown
                    && winner.is_none_or(|winner| *at > winner)
            });
        let certainty = match (unknown, assumed) {
            (true, _) => Certainty::Unknown,
            (false, true) => Certainty::Assumed,
            (false, false) => Certainty::Exact,
        };
        effective.push(Effective { key, winner, chain, certainty, gap });
    }
    effective.sort_by(|a, b| a.key.cmp(&b.key));
    effective
}

/// Says why a candidate did not win.
fn lose(assignments: &mut [Assignment], at: usize, winner: usize, sources: &[Source]) {
    if at == winner || assignments[at].outcome != Outcome::Won {
        return;
    }
    let (loser, stronger) = (&assignments[at], &assignments[winner]);
    let is_same = sources[loser.source].name == sources[stronger.source].name;
    let by = if loser.source == stronger.source || is_same && stronger.at.is_some() {
        match stronger.at {
            Some(position) => format!("line {} of the same source sets it again", position.line),
            None => "the same source sets it again".to_owned(),
        }
    } else {
        is_stronger(&sources[stronger.source].name)
    };
    let equal = loser.value.equals(&stronger.value);
    lost_to(&mut assignments[at], winner, by, equal);
}

/// Why a value loses to one of a source.
pub(crate) fn is_stronger(name: &str) -> String {
    format!("{name} is stronger")
}

/// Says of an assignment that another one won, and by what; with an equal value nothing changes.
pub(crate) fn lost_to(loser: &mut Assignment, winner: usize, by: String, equal: bool) {
    loser.superseded_by = Some(winner);
    loser.outcome = if equal { Outcome::NoOp } else { Outcome::Shadowed };
    loser.reason = if equal { format!("{by}, with the same value") } else { by };
}
