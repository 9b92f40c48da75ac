//! What a limit on the length of a value would cut.

use culprit_query::Parameter;

use crate::bloat::{FacetSizes, Left, SHORTEST_KEPT, facets, long_values};
use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::formulas::float;
use crate::visits::Histogram;

/// The largest share of values that a suggested limit cuts.
const CUT_AT_MOST: f64 = 0.001;
/// The least part of the possible saving that it makes.
const SAVES_AT_LEAST: f64 = 0.8;
/// Limits of the curve: powers of two from the shortest kept value to 64 KiB.
const CURVE: [u64; 11] = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// One limit and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapPoint {
    /// The limit in bytes of UTF-8.
    pub limit: u64,
    /// Bytes that it saves.
    pub saved: u64,
    /// Values that it cuts.
    pub cut: u64,
    /// Owners with a value that it cuts.
    pub owners: u64,
}

/// What limits would do to one path.
#[derive(Debug, Clone, PartialEq)]
pub struct CapReport {
    /// Name of the facet, a point, the path.
    pub path: String,
    /// Values of the path. An estimate where rows were replaced, removed or labelled: see `estimated`.
    pub values: u64,
    /// Their bytes in UTF-8.
    pub bytes: u64,
    /// True where `values` and `bytes` are the part of what imports read that the facet has left.
    pub estimated: bool,
    /// The limit that was asked about.
    pub asked: CapPoint,
    /// Limits from 64 bytes on; the last one cuts nothing.
    pub curve: Vec<CapPoint>,
    /// The smallest limit of the curve that cuts at most 0.1 % of the values and saves at least
    /// 80 % of what the limit of 64 bytes saves; none when no limit does both.
    pub suggested: Option<u64>,
    /// Bytes of values of 64 bytes or more of the owner with the most: a limit for each value does not bound them.
    pub container_max: u64,
    /// Of 1,000 owners of the facet, 999 have at most so many bytes of values of 64 bytes or more
    /// together.
    pub container_p999: u64,
}

/// Asks what `limit` bytes for each value of a path would do.
///
/// `path` is `FACET.PATH`, such as `InteractionsCache.InteractionCaches[].Referrers[]`, with or
/// without the table's name before it; an end of the path that only one path has is enough.
///
/// # Errors
/// When no path or several have that name, when the limit is below 64, or when a question cannot be
/// answered.
pub fn cap(store: &AuditStore, path: &str, limit: u64) -> Result<CapReport, AuditError> {
    if limit < SHORTEST_KEPT {
        return Err(AuditError::Asked {
            what: format!("cannot tell what a limit of {limit} bytes cuts"),
            hint: format!("values below {SHORTEST_KEPT} bytes are not kept one by one"),
        });
    }
    let facets = facets(store)?;
    let sums = path_sums(store, &facets)?;
    let found = choose(&sums, path)?;
    let long = long_values(store)?;
    let long = long.get(&(found.facet.clone(), found.path.clone())).cloned().unwrap_or_default();
    let values = [
        ("facet_key", Parameter::Text(found.facet.clone())),
        ("path", Parameter::Text(found.path.clone())),
    ];
    let (mut largest, mut together) = (Histogram::default(), Histogram::default());
    let mut with_long = 0;
    for row in store.ask("cap_owners", &values)?.rows {
        let cells = Cells(&row);
        largest.add(cells.count(0), cells.count(2));
        together.add(cells.count(1), cells.count(2));
        with_long += cells.count(2);
    }
    // All others have the facet, and no long value in it.
    together.add(0, owners_of(&facets, &found.facet).saturating_sub(with_long));
    let point = |limit| point(limit, &long, &largest);
    let end = CURVE.iter().position(|limit| *limit >= long.max()).map_or(CURVE.len(), |at| at + 1);
    let curve: Vec<CapPoint> = CURVE[..end].iter().map(|limit| point(*limit)).collect();
    Ok(CapReport {
        path: format!("{}.{}", found.facet, found.path),
        values: found.values,
        bytes: found.bytes,
        estimated: found.estimated,
        asked: point(limit),
        suggested: suggested(&curve, found.values),
        curve,
        container_max: together.max(),
        container_p999: if together.count() == 0 { 0 } else { together.at_share(0.999) },
    })
}

fn point(limit: u64, values: &Histogram, owners: &Histogram) -> CapPoint {
    let longer = values.counts().filter(|(bytes, _)| *bytes > limit);
    let (mut saved, mut cut) = (0, 0);
    for (bytes, count) in longer {
        saved += (bytes - limit) * count;
        cut += count;
    }
    let owners = owners.counts().filter(|(bytes, _)| *bytes > limit).map(|(_, count)| count).sum();
    CapPoint { limit, saved, cut, owners }
}

fn suggested(curve: &[CapPoint], values: u64) -> Option<u64> {
    let possible = curve.first()?.saved;
    let fits = |point: &&CapPoint| {
        float(point.cut) <= CUT_AT_MOST * float(values)
            && float(point.saved) >= SAVES_AT_LEAST * float(possible)
    };
    curve.iter().filter(|_| possible > 0).find(fits).map(|point| point.limit)
}

/// Texts of one path.
struct PathSum {
    facet: String,
    path: String,
    values: u64,
    bytes: u64,
    estimated: bool,
}

/// Owners of a facet: each has one of a name.
fn owners_of(facets: &[FacetSizes], name: &str) -> u64 {
    facets.iter().filter(|facet| facet.facet == name).map(|facet| facet.sizes.values).sum()
}

fn path_sums(store: &AuditStore, facets: &[FacetSizes]) -> Result<Vec<PathSum>, AuditError> {
    let rows = store.ask("bloat_paths", &[])?.rows;
    let left = Left::of(&rows, facets);
    let texts = rows.iter().map(|row| Cells(row)).filter(|cells| cells.text(2) == Some("text"));
    let sum = |cells: Cells<'_>| PathSum {
        facet: cells.text(0).unwrap_or_default().to_owned(),
        path: cells.text(1).unwrap_or_default().to_owned(),
        values: left.part(cells.text(0), cells.count(3)),
        bytes: left.part(cells.text(0), cells.count(4)),
        estimated: left.is_estimate(cells.text(0)),
    };
    Ok(texts.map(sum).collect())
}

fn choose<'a>(sums: &'a [PathSum], wanted: &str) -> Result<&'a PathSum, AuditError> {
    let wanted = ["ContactFacets.", "InteractionFacets.", "Interactions."]
        .iter()
        .find_map(|table| wanted.strip_prefix(table))
        .unwrap_or(wanted);
    let name = |sum: &PathSum| format!("{}.{}", sum.facet, sum.path);
    if let Some(sum) = sums.iter().find(|sum| name(sum) == wanted) {
        return Ok(sum);
    }
    // `InteractionsCache.Referrers[]` leaves out what is between.
    let (facet, end) = wanted.split_once('.').unwrap_or(("", wanted));
    let ends = |sum: &&PathSum| {
        let in_facet = facet.is_empty() || sum.facet == facet;
        let whole = name(sum);
        (in_facet && whole.ends_with(&format!(".{end}"))) || whole.ends_with(&format!(".{wanted}"))
    };
    let found: Vec<&PathSum> = sums.iter().filter(ends).collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err(AuditError::Asked {
            what: format!("no path with text values is called `{wanted}`"),
            hint: "`culprit audit bloat STORE` lists the paths".to_owned(),
        }),
        _ => {
            let names: Vec<String> = found.iter().map(|sum| name(sum)).collect();
            Err(AuditError::Asked {
                what: format!("{} paths are called `{wanted}`", found.len()),
                hint: format!("give one of {}", names.join(", ")),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(counts: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        counts.iter().for_each(|(bytes, count)| histogram.add(*bytes, *count));
        histogram
    }

    #[test]
    fn a_limit_saves_what_is_beyond_it() {
        let long = values(&[(100, 10), (1000, 2)]);
        let found = point(512, &long, &values(&[(1000, 1), (100, 8)]));
        assert_eq!(found, CapPoint { limit: 512, saved: 976, cut: 2, owners: 1 });
        assert_eq!(point(1000, &long, &long).cut, 0);
    }

    /// One referrer of 28 KB among 10,000: the limit that spares all others is suggested.
    #[test]
    fn the_suggested_limit_cuts_few_and_saves_much() {
        let long = values(&[(100, 50), (28_000, 1)]);
        let curve: Vec<CapPoint> = CURVE.iter().map(|limit| point(*limit, &long, &long)).collect();
        assert_eq!(suggested(&curve, 10_000), Some(128));
        // When every value is long, every limit that saves much cuts too many.
        let all = values(&[(28_000, 10_000)]);
        let curve: Vec<CapPoint> = CURVE.iter().map(|limit| point(*limit, &all, &all)).collect();
        assert_eq!(suggested(&curve, 10_000), None);
        assert_eq!(suggested(&[point(64, &values(&[]), &values(&[]))], 10_000), None);
    }
}
