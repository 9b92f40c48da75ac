//! What is large among the stored values, and why.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::formulas::{float, share};
use crate::visits::Histogram;

/// Values shorter than this are counted, and not kept one by one.
pub(crate) const SHORTEST_KEPT: u64 = 64;

/// Sizes of many values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sizes {
    /// Values.
    pub values: u64,
    /// Their bytes in UTF-8.
    pub bytes: u64,
    /// Their bytes in UTF-16.
    pub bytes_utf16: u64,
    /// Their share of the bytes of all facets, 0 to 1.
    pub share: f64,
    /// Quantiles in bytes of UTF-8, exact. For paths, one below 64 bytes is none: such values are
    /// not kept one by one.
    pub p50: Option<u64>,
    /// Nine in ten are not longer.
    pub p90: Option<u64>,
    /// 99 in 100.
    pub p99: Option<u64>,
    /// 999 in 1,000.
    pub p999: Option<u64>,
    /// The largest.
    pub max: u64,
}

/// Facets of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct FacetSizes {
    /// Its name.
    pub facet: String,
    /// `contact` or `interaction`.
    pub owner: String,
    /// Sizes.
    pub sizes: Sizes,
}

/// Values of one path inside of the facets of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSizes {
    /// Name of the facet, a point, the path.
    pub path: String,
    /// Kind of the values.
    pub kind: String,
    /// Sizes. The largest one is of a row that is left. A nested value also counts in the values around
    /// it.
    pub sizes: Sizes,
    /// True where values and bytes are the part of what imports read that the facet has left: rows of it
    /// were replaced, removed or labelled.
    pub estimated: bool,
    /// Elements of the longest array or object; 0 for others.
    pub max_elements: u64,
    /// Bytes that storing equal long values once would save; none where no value is long, because
    /// shorter ones are only counted.
    pub repeated_bytes: Option<u64>,
}

/// One large value, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeValue {
    /// Where it is.
    pub path: String,
    /// Bytes in UTF-8.
    pub bytes: u64,
    /// Scheme and host of an address.
    pub host: Option<String>,
    /// What it looks like.
    pub junk: Option<String>,
    /// `contact` or `interaction`, and its key.
    pub owner: (String, i64),
}

/// Long values of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunkSum {
    /// The class; a value of several counts in each.
    pub junk: String,
    /// Values.
    pub values: u64,
    /// Bytes in UTF-8.
    pub bytes: u64,
}

/// What is large.
#[derive(Debug, Clone, PartialEq)]
pub struct BloatReport {
    /// Bytes of all facets in UTF-8.
    pub bytes: u64,
    /// By name, the largest first.
    pub facets: Vec<FacetSizes>,
    /// By path, the largest first.
    pub paths: Vec<PathSizes>,
    /// The largest values.
    pub top: Vec<LargeValue>,
    /// By class, the largest first.
    pub junk: Vec<JunkSum>,
    /// Bytes of facets by the day (since 1970-01-01, UTC) of their last change.
    pub days: Vec<(i64, u64)>,
}

impl BloatReport {
    /// Bytes that a day added on average over the last 30 days with a change; none without a day.
    #[must_use]
    pub fn growth_per_day(&self) -> Option<f64> {
        const DAYS: i64 = 30;
        let last = self.days.last()?.0;
        let first = self.days.first()?.0.max(last - DAYS + 1);
        let bytes: u64 = self.days.iter().filter(|(day, _)| *day >= first).map(|(_, b)| b).sum();
        Some(float(bytes) / float(last.abs_diff(first) + 1))
    }
}

/// Finds what is large; `top` values are listed one by one.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn bloat(store: &AuditStore, top: u32) -> Result<BloatReport, AuditError> {
    let facets = facets(store)?;
    let bytes = facets.iter().map(|facet| facet.sizes.bytes).sum();
    let summed = store.has_sums("rollup_facets");
    let days = store.ask(if summed { "rolled_days" } else { "bloat_days" }, &[])?.rows;
    let mut days: Vec<(i64, u64)> = days
        .iter()
        .map(|row| Cells(row))
        .filter_map(|cells| Some((cells.int(0)?, cells.count(1))))
        .collect();
    days.sort_unstable();
    Ok(BloatReport {
        bytes,
        paths: paths(store, (&facets, bytes))?,
        facets: with_shares(facets, bytes),
        top: largest(store, top)?,
        junk: junk(store)?,
        days,
    })
}

fn with_shares(mut facets: Vec<FacetSizes>, bytes: u64) -> Vec<FacetSizes> {
    facets.iter_mut().for_each(|facet| facet.sizes.share = share(facet.sizes.bytes, bytes));
    facets.sort_by(|a, b| b.sizes.bytes.cmp(&a.sizes.bytes).then(a.facet.cmp(&b.facet)));
    facets
}

pub(crate) fn facets(store: &AuditStore) -> Result<Vec<FacetSizes>, AuditError> {
    let mut all: BTreeMap<(String, String), (Histogram, Sizes)> = BTreeMap::new();
    let summed = store.has_sums("rollup_facets");
    for row in store.ask(if summed { "rolled_facets" } else { "bloat_sizes" }, &[])?.rows {
        let cells = Cells(&row);
        let text = |at| cells.text(at).unwrap_or_default().to_owned();
        let (histogram, sizes) = all.entry((text(0), text(1))).or_default();
        let (bytes, values) = (cells.count(2), cells.count(3));
        histogram.add(bytes, values);
        sizes.values += values;
        sizes.bytes += bytes * values;
        sizes.bytes_utf16 += cells.count(4);
    }
    let facet = |((facet, owner), (histogram, sizes)): ((String, String), (Histogram, Sizes))| {
        let at = |share| Some(histogram.at_share(share));
        let (p50, p90, p99, p999) = (at(0.5), at(0.9), at(0.99), at(0.999));
        let sizes = Sizes { p50, p90, p99, p999, max: histogram.max(), ..sizes };
        FacetSizes { facet, owner, sizes }
    };
    Ok(all.into_iter().map(facet).collect())
}

/// Facet and path.
type PathName = (String, String);

fn named(cells: Cells<'_>) -> PathName {
    let text = |at| cells.text(at).unwrap_or_default().to_owned();
    (text(0), text(1))
}

/// The long values of each path.
pub(crate) fn long_values(store: &AuditStore) -> Result<BTreeMap<PathName, Histogram>, AuditError> {
    let mut all: BTreeMap<PathName, Histogram> = BTreeMap::new();
    for row in store.ask("bloat_long", &[])?.rows {
        let cells = Cells(&row);
        all.entry(named(cells)).or_default().add(cells.count(2), cells.count(3));
    }
    Ok(all)
}

/// Of facets that lost some of the bytes that imports read, what is left and what was read: sums by path are
/// of all that was read.
#[derive(Debug)]
pub(crate) struct Left(BTreeMap<String, (u64, u64)>);

impl Left {
    /// Of rows of `bloat_paths` and the facets that are there.
    pub(crate) fn of(rows: &[Vec<culprit_query::Value>], facets: &[FacetSizes]) -> Self {
        let mut left: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for facet in facets {
            left.entry(facet.facet.clone()).or_default().0 += facet.sizes.bytes;
        }
        // The path without a name is the whole text.
        for cells in rows.iter().map(|row| Cells(row)) {
            if cells.text(1).unwrap_or_default().is_empty() {
                left.entry(named(cells).0).or_default().1 += cells.count(4);
            }
        }
        // A text that is no JSON has no path, so more may be there than was read.
        left.retain(|_, (there, read)| there < read);
        Self(left)
    }

    /// True where rows of the facet were replaced, removed or labelled.
    pub(crate) fn is_estimate(&self, facet: Option<&str>) -> bool {
        self.0.contains_key(facet.unwrap_or_default())
    }

    /// The part of a sum of the facet that is left, if all its texts are alike.
    pub(crate) fn part(&self, facet: Option<&str>, sum: u64) -> u64 {
        match self.0.get(facet.unwrap_or_default()) {
            Some((there, read)) => {
                let part = u128::from(sum) * u128::from(*there) / u128::from(*read);
                u64::try_from(part).unwrap_or(u64::MAX)
            }
            None => sum,
        }
    }
}

fn paths(
    store: &AuditStore,
    (facets, all_bytes): (&[FacetSizes], u64),
) -> Result<Vec<PathSizes>, AuditError> {
    let long = long_values(store)?;
    let repeated = store.ask("bloat_duplicates", &[])?.rows;
    let repeated: BTreeMap<PathName, u64> =
        repeated.iter().map(|row| (named(Cells(row)), Cells(row).count(4))).collect();
    let rows = store.ask("bloat_paths", &[])?.rows;
    let left = Left::of(&rows, facets);
    let mut paths: Vec<PathSizes> = rows
        .iter()
        .map(|row| {
            let cells = Cells(row);
            let name = named(cells);
            let kind = cells.text(2).unwrap_or_default().to_owned();
            let is_text = kind == "text";
            let long = long.get(&name).filter(|_| is_text);
            let values = left.part(cells.text(0), cells.count(3));
            let bytes = left.part(cells.text(0), cells.count(4));
            let at = |share: f64| long.and_then(|long| long_at_share(long, values, share));
            let sizes = Sizes {
                values,
                bytes,
                bytes_utf16: left.part(cells.text(0), cells.count(5)),
                share: share(bytes, all_bytes),
                p50: at(0.5),
                p90: at(0.9),
                p99: at(0.99),
                p999: at(0.999),
                max: match long.map(Histogram::max) {
                    Some(max) => max,
                    None if is_text => cells.count(6).min(SHORTEST_KEPT - 1),
                    None => cells.count(6),
                },
            };
            let repeated_bytes = repeated.get(&name).copied().filter(|_| is_text);
            let path = format!("{}.{}", name.0, name.1);
            let estimated = left.is_estimate(cells.text(0));
            PathSizes { path, kind, sizes, estimated, max_elements: cells.count(8), repeated_bytes }
        })
        .collect();
    paths.sort_by(|a, b| (b.sizes.bytes, &a.path, &a.kind).cmp(&(a.sizes.bytes, &b.path, &b.kind)));
    Ok(paths)
}

/// A quantile of all values when only the long ones are kept; none when it is a short one.
fn long_at_share(long: &Histogram, values: u64, wanted: f64) -> Option<u64> {
    let short = values.saturating_sub(long.count());
    let place = (wanted * float(values)).ceil();
    let in_long = place - float(short);
    (in_long >= 1.0).then(|| long.at_share(in_long / float(long.count())))
}

fn largest(store: &AuditStore, top: u32) -> Result<Vec<LargeValue>, AuditError> {
    let rows = store.ask("bloat_top", &[("top", Parameter::Int(top.into()))])?.rows;
    let value = |row: &Vec<culprit_query::Value>| {
        let cells = Cells(row);
        let (facet, path) = named(cells);
        LargeValue {
            path: format!("{facet}.{path}"),
            bytes: cells.count(2),
            host: cells.text(3).map(str::to_owned),
            junk: cells.text(4).map(str::to_owned),
            owner: (cells.text(5).unwrap_or_default().to_owned(), cells.int(6).unwrap_or(0)),
        }
    };
    Ok(rows.iter().map(value).collect())
}

fn junk(store: &AuditStore) -> Result<Vec<JunkSum>, AuditError> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in store.ask("bloat_junk", &[])?.rows {
        let cells = Cells(&row);
        for class in cells.text(0).unwrap_or_default().split('+') {
            let (values, bytes) = sums.entry(class.to_owned()).or_default();
            *values += cells.count(1);
            *bytes += cells.count(2);
        }
    }
    let sum = |(junk, (values, bytes))| JunkSum { junk, values, bytes };
    let mut junk: Vec<JunkSum> = sums.into_iter().map(sum).collect();
    junk.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.junk.cmp(&b.junk)));
    Ok(junk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_paths_are_exact_or_none() {
        let mut long = Histogram::default();
        long.add(100, 5);
        long.add(5000, 1);
        // 94 short values and 6 long ones: the 95th is the first long one.
        assert_eq!(long_at_share(&long, 100, 0.5), None);
        assert_eq!(long_at_share(&long, 100, 0.94), None);
        assert_eq!(long_at_share(&long, 100, 0.95), Some(100));
        assert_eq!(long_at_share(&long, 100, 0.99), Some(100));
        assert_eq!(long_at_share(&long, 100, 0.999), Some(5000));
    }

    #[test]
    fn growth_is_of_the_last_thirty_days() {
        let report = |days: Vec<(i64, u64)>| BloatReport {
            bytes: 0,
            facets: Vec::new(),
            paths: Vec::new(),
            top: Vec::new(),
            junk: Vec::new(),
            days,
        };
        assert_eq!(report(vec![]).growth_per_day(), None);
        assert_eq!(report(vec![(10, 50)]).growth_per_day(), Some(50.0));
        assert_eq!(report(vec![(0, 9_000), (100, 300), (129, 300)]).growth_per_day(), Some(20.0));
    }
}
