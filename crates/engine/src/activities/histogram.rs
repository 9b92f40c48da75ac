//! Latencies in buckets whose edges are 1, 2 and 5 times the powers of ten: three a decade, so that
//! people can read the edges and a bucket is at most 2.5 times as wide as where it begins.

use culprit_model::Nanos;

/// How many latencies lie between two edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The least latency in it.
    pub from: Nanos,
    /// The least latency above it.
    pub to: Nanos,
    /// How many there are.
    pub count: u64,
}

/// The buckets from the first to the last that has any; none of no latencies.
#[must_use]
pub fn histogram(latencies: &[Nanos]) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let mut rest = sorted.as_slice();
    for (from, to) in edges() {
        let inside = rest.partition_point(|latency| *latency < to || to.0 == u64::MAX);
        let (here, later) = rest.split_at(inside);
        rest = later;
        if !(buckets.is_empty() && here.is_empty()) {
            buckets.push(Bucket { from, to, count: here.len() as u64 });
        }
        if rest.is_empty() {
            break;
        }
    }
    buckets
}

/// 0 to 1, 1 to 2, 2 to 5, 5 to 10, ... ns; the last has no upper edge.
fn edges() -> impl Iterator<Item = (Nanos, Nanos)> {
    let steps = (0..20_u32).flat_map(|decade| [1, 2, 5].map(|step| (decade, step)));
    let edges = steps.map_while(|(decade, step)| 10_u64.checked_pow(decade)?.checked_mul(step));
    let mut from = Nanos::ZERO;
    edges.chain([u64::MAX]).map(move |to| (std::mem::replace(&mut from, Nanos(to)), Nanos(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_is_in_the_bucket_that_begins_at_or_below_it() {
        let buckets = histogram(&[1, 4, 5, 9, 100].map(Nanos));
        let shown: Vec<_> = buckets.iter().map(|b| (b.from.0, b.to.0, b.count)).collect();
        assert_eq!(
            shown,
            [
                (1, 2, 1),
                (2, 5, 1),
                (5, 10, 2),
                (10, 20, 0),
                (20, 50, 0),
                (50, 100, 0),
                (100, 200, 1)
            ]
        );
        assert_eq!(histogram(&[]), []);
    }

    #[test]
    fn the_ends_of_the_scale_have_buckets_too() {
        let buckets = histogram(&[Nanos(0), Nanos(u64::MAX)]);
        assert_eq!(buckets.first().map(|b| (b.from.0, b.count)), Some((0, 1)));
        assert_eq!(buckets.last().map(|b| (b.to.0, b.count)), Some((u64::MAX, 1)));
        assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), 2);
    }
}
