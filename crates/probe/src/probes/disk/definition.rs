//! A workload as other tools define it, and whether its name fits what it does.
//!
//! People choose and quote workloads by their names, but what runs is what the options say. A
//! published "random read" whose options ask for 60 % writes is a random mix. [`differences`]
//! compares words with numbers; where a word may mean two things, it says nothing.

use super::spec::{Access, Cache, Engine, Spec, percent, size};

/// A workload as another tool's definition has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// What is done.
    pub spec: Spec,
    /// The file that the definition names, where it names one. It is never touched: the workload
    /// runs on a file of our own.
    pub target: Option<String>,
    /// What it is called or described as, which may differ from what it does.
    pub claims: Vec<String>,
    /// What is different here from the tool itself, and what the options mean where people often
    /// misread them: one sentence each, without a final full stop.
    pub notes: Vec<String>,
}

/// Where the words of a claim and the workload differ: one sentence each.
#[must_use]
pub fn differences(claim: &str, spec: &Spec) -> Vec<String> {
    let words = Words::of(claim);
    let found = [
        direction(&words, spec),
        mix(&words, spec),
        order(&words, spec),
        cache(&words, spec),
        disk(&words, spec),
        durability(&words, spec),
        depth(&words, spec),
        threads(&words, spec),
        block(&words, spec),
    ];
    let claim = claim.split_whitespace().collect::<Vec<_>>().join(" ");
    found.into_iter().flatten().map(|but| format!("the claim is `{claim}`, but {but}")).collect()
}

/// Whether a claim says anything about a workload that [`differences`] could find wrong.
#[must_use]
pub fn is_understood(claim: &str) -> bool {
    // What fits workloads that are opposites in everything says nothing.
    let reads = Spec::default();
    let writes = Spec { write_share: 1.0, ..Spec::default() };
    let opposite = Spec {
        engine: Engine::IoUring,
        block: 96 << 10,
        threads: 3,
        depth: 3,
        access: Access::Sequential,
        write_share: 1.0,
        cache: Cache::DirectWriteThrough,
        ..Spec::default()
    };
    [reads, writes, opposite].iter().any(|spec| !differences(claim, spec).is_empty())
}

/// What a claim may name, in words.
pub const CLAIMS: &str = "reads or writes and their share, random or sequential, cached, direct or \
                          durable, the disk, a queue depth, threads, or the size of a block";

/// The words of a claim, in lower case. `%` and `/` are words, too.
struct Words(Vec<String>);

impl Words {
    fn of(claim: &str) -> Self {
        let mut words = vec![String::new()];
        for letter in claim.chars().flat_map(char::to_lowercase) {
            match (letter, words.last_mut()) {
                ('%' | '/', _) => words.extend([letter.to_string(), String::new()]),
                (letter, Some(word)) if letter.is_alphanumeric() => word.push(letter),
                _ => words.push(String::new()),
            }
        }
        words.retain(|word| !word.is_empty());
        Self(words)
    }

    fn at(&self, index: usize) -> &str {
        self.0.get(index).map_or("", String::as_str)
    }

    fn before(&self, index: usize) -> &str {
        index.checked_sub(1).map_or("", |index| self.at(index))
    }

    /// "not cached", "without the page cache": the word says the opposite.
    fn denied(&self, index: usize) -> bool {
        let first = index.saturating_sub(2);
        (first..index).any(|at| matches!(self.at(at), "no" | "not" | "non" | "without" | "never"))
    }

    fn any(&self, wanted: impl Fn(usize, &str) -> bool) -> bool {
        (0..self.0.len()).any(|at| wanted(at, self.at(at)) && !self.denied(at))
    }

    fn has(&self, wanted: &[&str]) -> bool {
        self.any(|_, word| wanted.contains(&word))
    }

    /// Numbers directly followed by one of these words.
    fn numbers_before<'a>(&'a self, wanted: &'a [&str]) -> impl Iterator<Item = u64> + 'a {
        let numbers = self.0.windows(2).filter(|pair| wanted.contains(&pair[1].as_str()));
        numbers.filter_map(|pair| pair[0].parse().ok())
    }
}

/// What one word says about direction and order.
#[derive(Default, Clone, Copy)]
struct Said {
    reads: bool,
    writes: bool,
    random: bool,
    sequential: bool,
}

/// Takes apart what is often written together, such as `randread`.
fn said(word: &str) -> Said {
    let mut said = Said::default();
    let random = ["random", "rand", "rnd"];
    let sequential = ["sequentially", "sequential", "seq"];
    let mut rest = word;
    if let Some(found) = random.iter().find_map(|front| word.strip_prefix(front)) {
        (said.random, rest) = (true, found.strip_prefix("ly").unwrap_or(found));
    } else if let Some(found) = sequential.iter().find_map(|front| word.strip_prefix(front)) {
        (said.sequential, rest) = (true, found);
    }
    match rest {
        "read" | "reads" | "reading" | "readonly" => said.reads = true,
        "write" | "writes" | "writing" | "writeonly" => said.writes = true,
        "rw" | "readwrite" | "mix" | "mixed" => (said.reads, said.writes) = (true, true),
        "" | "io" => {}
        // `randomize`, `sequence`: another word.
        _ => return Said::default(),
    }
    said
}

impl Words {
    /// Words that stand for something else beside them are left out: `write-through`, `read-ahead`,
    /// `random data`.
    fn said_at(&self, at: usize) -> Said {
        let mut said = said(self.at(at));
        let next = self.at(at + 1);
        if self.denied(at)
            || matches!(next, "through" | "back" | "ahead" | "cache" | "caching" | "behind")
        {
            return Said::default();
        }
        let content = ["data", "seed", "content", "contents", "buffer", "buffers", "bytes"];
        said.random &= !content.contains(&next);
        said
    }

    fn said(&self) -> Said {
        (0..self.0.len()).map(|at| self.said_at(at)).fold(Said::default(), |all, one| Said {
            reads: all.reads || one.reads,
            writes: all.writes || one.writes,
            random: all.random || one.random,
            sequential: all.sequential || one.sequential,
        })
    }

    /// Shares of writes that are claimed as `60 % writes`. In `writes 60 %` the number may belong
    /// to the word after it, so nothing is read from claims of that order.
    fn write_shares(&self) -> Vec<f64> {
        let direction = |at: &usize| {
            let said = said(self.at(*at));
            said.reads != said.writes
        };
        let all = 0..self.0.len();
        let first_sign = all.clone().find(|at| self.at(*at) == "%");
        if all.clone().find(direction) < first_sign {
            return Vec::new();
        }
        let shares = all.filter(|at| self.at(*at) == "%" && direction(&(at + 1)));
        let shares = shares.filter_map(|at| {
            let share = self.before(at).parse::<f64>().ok()? / 100.0;
            Some(if said(self.at(at + 1)).writes { share } else { 1.0 - share })
        });
        shares.collect()
    }

    /// `60/40`: which is which is not always told.
    fn ratio(&self) -> Option<(u64, u64)> {
        let mut ratios = self.0.windows(3).filter(|three| three[1] == "/").filter_map(|three| {
            Some((three[0].parse::<u64>().ok()?, three[2].parse::<u64>().ok()?))
        });
        ratios.find(|(one, other)| one.checked_add(*other) == Some(100))
    }
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.005
}

fn requests(share: f64) -> String {
    if share >= 1.0 {
        "all requests".to_owned()
    } else {
        format!("{} of the requests", percent(share))
    }
}

fn direction(words: &Words, spec: &Spec) -> Option<String> {
    let said = words.said();
    if said.reads == said.writes || !words.write_shares().is_empty() || words.ratio().is_some() {
        return None;
    }
    let (share, other) =
        if said.reads { (spec.write_share, "writes") } else { (1.0 - spec.write_share, "reads") };
    let mostly = words.has(&["mostly", "mainly", "heavy", "intensive", "dominated", "most"]);
    let mixed = words.has(&["mix", "mixed"]);
    let allowed = if mostly || mixed { 0.5 } else { 0.0 };
    (share > allowed).then(|| format!("{} are {other}", requests(share)))
}

fn mix(words: &Words, spec: &Spec) -> Option<String> {
    let writes = spec.write_share;
    let are = || format!("{} are writes", requests(writes));
    if let Some(share) = words.write_shares().into_iter().find(|share| !same(*share, writes)) {
        // All requests being reads is a clearer sentence than "0 % are writes".
        return Some(if same(writes, 0.0) && !same(share, 0.0) {
            "all requests are reads".to_owned()
        } else {
            are()
        });
    }
    let said = words.said();
    let (one, other) = words.ratio()?;
    let near = |percent: u64| same(writes * 100.0, f64::from(u32::try_from(percent).unwrap_or(0)));
    (said.reads && said.writes && !near(one) && !near(other)).then(are)
}

fn order(words: &Words, spec: &Spec) -> Option<String> {
    let said = words.said();
    if said.random == said.sequential || words.has(&["mix", "mixed"]) && !said.random {
        return None;
    }
    let random = match spec.access {
        Access::Sequential => 0.0,
        Access::Random => 1.0,
        Access::Mixed { random } => random,
    };
    if said.random && random < 1.0 {
        return Some(format!("{} follow the previous one", requests(1.0 - random)));
    }
    (said.sequential && random > 0.0).then(|| format!("{} are random", requests(random)))
}

fn cache(words: &Words, spec: &Spec) -> Option<String> {
    let cached = words.has(&["cached", "buffered"]);
    let direct = words.has(&["direct", "odirect", "uncached", "unbuffered"]);
    if cached && !direct && spec.cache.is_direct() {
        return Some("it bypasses the page cache".to_owned());
    }
    let through = direct && !cached && !spec.cache.is_direct();
    through.then(|| "it goes through the page cache".to_owned())
}

/// A disk is meant to be measured, but memory may answer.
fn disk(words: &Words, spec: &Spec) -> Option<String> {
    let meant = ["disk", "disks", "device", "drive", "ssd", "nvme", "hdd"];
    if spec.cache.is_direct() || words.has(&["cached", "buffered"]) || !words.has(&meant) {
        return None;
    }
    if spec.write_share < 1.0 && !spec.drop_cache {
        return Some("reads of cached pages come from memory".to_owned());
    }
    (spec.write_share > 0.0 && spec.cache == Cache::Cached)
        .then(|| "writes return before they are on the disk".to_owned())
}

fn durability(words: &Words, spec: &Spec) -> Option<String> {
    let meant = ["sync", "synchronous", "durable", "fsync", "fdatasync", "dsync", "osync"];
    let engine = words.has(&["engine", "ioengine"]);
    let lost = words.has(&meant) && !engine && !spec.cache.writes_through();
    (lost && spec.write_share > 0.0).then(|| match spec.cache {
        Cache::Direct => "writes may still be in the disk's own cache when they return".to_owned(),
        _ => "writes return before they are on the disk".to_owned(),
    })
}

/// `Q32T1`: how some tools name depth and threads.
fn queue_and_threads(word: &str) -> Option<(u64, u64)> {
    let (queue, threads) = word.strip_prefix('q')?.split_once('t')?;
    Some((queue.parse().ok()?, threads.parse().ok()?))
}

fn depth(words: &Words, spec: &Spec) -> Option<String> {
    let names = ["qd", "iodepth", "queuedepth"];
    let at = |index: usize| {
        let word = words.at(index);
        if let Some((queue, _)) = queue_and_threads(word) {
            return Some(queue);
        }
        let glued = names.iter().find_map(|name| word.strip_prefix(name))?;
        if glued.is_empty() { words.at(index + 1).parse().ok() } else { glued.parse().ok() }
    };
    let spoken = |index: usize| {
        let after = if words.at(index + 2) == "of" { index + 3 } else { index + 2 };
        (words.at(index) == "queue" && words.at(index + 1) == "depth")
            .then(|| words.at(after).parse().ok())
            .flatten()
    };
    let claimed = (0..words.0.len()).find_map(|index| at(index).or_else(|| spoken(index)))?;
    // Both ways of counting are in use: for each thread, and for all.
    (claimed != u64::from(spec.depth) && claimed != spec.in_flight()).then(|| {
        let each = if spec.threads == 1 { "" } else { " for each thread" };
        let be = if spec.depth == 1 { "is" } else { "are" };
        format!("{} {be} in flight{each}", spec.depth)
    })
}

fn threads(words: &Words, spec: &Spec) -> Option<String> {
    let counts = words.numbers_before(&["thread", "threads", "threaded", "jobs"]);
    let named = words.0.iter().filter_map(|word| Some(queue_and_threads(word)?.1));
    let single = words.any(|at, word| {
        word == "single" && words.at(at + 1).starts_with("thread") || word.starts_with("singlethr")
    });
    let single = single.then_some(1);
    let wrong = counts.chain(named).chain(single).find(|count| *count != u64::from(spec.threads));
    let many = words.has(&["multithreaded", "multithread"])
        || words.any(|at, word| word == "multi" && words.at(at + 1).starts_with("thread"));
    (wrong.is_some() || many && spec.threads == 1).then(|| match spec.threads {
        1 => "1 thread runs".to_owned(),
        threads => format!("{threads} threads run"),
    })
}

/// Bytes of `4k` or `128kib`, and whether its unit is KiB.
fn bytes(word: &str) -> Option<(u64, bool)> {
    let digits = word.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = word.split_at_checked(digits)?;
    let number = number.parse::<u64>().ok()?;
    match unit {
        "k" | "kb" | "kib" => Some((number.checked_mul(1 << 10)?, true)),
        "m" | "mb" | "mib" => Some((number.checked_mul(1 << 20)?, false)),
        _ => None,
    }
}

/// Block sizes are powers of two. Other numbers with `k` count something else (`10k IOPS`), and
/// megabytes are those of a file unless blocks are named.
fn block(words: &Words, spec: &Spec) -> Option<String> {
    let counted = [
        "iops", "ops", "op", "requests", "files", "file", "rpm", "rows", "users", "s", "/",
        "limit", "aligned", "stride",
    ];
    let at = |index: usize| {
        let word = words.at(index);
        let glued = word.strip_prefix("bs");
        let next = words.at(index + 1);
        // `4 KiB` is two words.
        let (found, next) = match bytes(glued.unwrap_or(word)) {
            Some(found) => (found, next),
            None if word.parse::<u64>().is_ok() => {
                (bytes(&format!("{word}{next}"))?, words.at(index + 2))
            }
            None => return None,
        };
        let named = glued.is_some()
            || matches!(next, "block" | "blocks" | "blocksize" | "bs")
            || matches!(words.before(index), "bs" | "blocksize");
        let (bytes, kib) = found;
        let likely = named || kib && bytes.is_power_of_two() && bytes <= 1 << 20;
        (likely && !counted.contains(&next)).then_some(bytes)
    };
    let claimed: Vec<u64> = (0..words.0.len()).filter_map(at).collect();
    let other = [spec.block, spec.step(), spec.size, spec.used(), spec.thread_stride];
    let wrong = !claimed.is_empty() && !claimed.iter().any(|bytes| other.contains(bytes));
    wrong.then(|| format!("a request has {}", size(spec.block)))
}

#[cfg(test)]
mod tests;
