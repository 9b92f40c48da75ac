//! The slice that is computed here as well: some files of each table, chosen at random on every run.
//!
//! Files stand in folders such as `day=2026-11-29/shard=0`. One such place is chosen; of each table those
//! files count that are not of another day, shard or host. Tables that have no such folders count whole.
//! Of many files or large ones, as many as fit into [`LARGEST`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::dataset::{TableFile, TableFiles};

/// Bytes of the files of one table in a slice at most, unless a single file has more: about a second to read.
const LARGEST: u64 = 64 << 20;

/// What the folders of a file say: `day` is `2026-11-29`.
type Keys = BTreeMap<String, String>;

/// Some files of each table.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    /// Which ones, in words.
    pub(super) name: String,
    /// The tables with these files.
    pub(super) tables: Vec<TableFiles>,
}

impl Slice {
    /// Chooses one of the places that the tables have. The same number chooses the same one.
    pub(super) fn choose(tables: &[TableFiles], mut random: u64) -> Self {
        let all: Vec<Keys> =
            tables.iter().flat_map(|table| &table.files).map(|file| keys(&file.path)).collect();
        let most = all.iter().map(BTreeMap::len).max().unwrap_or(0);
        let places: BTreeSet<&Keys> = all.iter().filter(|keys| keys.len() == most).collect();
        let place = pick(places.len(), &mut random)
            .and_then(|at| places.iter().nth(at).copied().cloned())
            .unwrap_or_default();
        let tables = tables.iter().map(|table| TableFiles {
            table: table.table,
            files: some(&table.files, &place, random),
        });
        Self { name: describe(&place), tables: tables.collect() }
    }
}

fn describe(place: &Keys) -> String {
    if place.is_empty() {
        return "some of its files".to_owned();
    }
    let parts: Vec<String> = place.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join("/")
}

/// The files that are of no other place, as many as fit.
fn some(files: &[TableFile], place: &Keys, mut random: u64) -> Vec<TableFile> {
    let fits = |file: &&TableFile| {
        keys(&file.path)
            .iter()
            .all(|(key, value)| place.get(key).is_none_or(|chosen| chosen == value))
    };
    let mut left: Vec<&TableFile> = files.iter().filter(fits).collect();
    let (mut chosen, mut bytes) = (Vec::new(), 0_u64);
    while let Some(at) = pick(left.len(), &mut random) {
        let file = left.swap_remove(at);
        let size = std::fs::metadata(&file.path).map_or(0, |facts| facts.len());
        bytes = bytes.saturating_add(size);
        if bytes > LARGEST && !chosen.is_empty() {
            break;
        }
        chosen.push(file.clone());
    }
    chosen.sort();
    chosen
}

/// What the folders of a file say.
fn keys(file: &Path) -> Keys {
    let folders = file.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|part| {
            let (key, value) = part.as_os_str().to_str()?.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// A number below `count`; none when there is none. Changes `random` for the next one.
fn pick(count: usize, random: &mut u64) -> Option<usize> {
    // SplitMix64 (Steele, Lea, Flood 2014): each step mixes all bits.
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *random;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
    usize::try_from(mixed % count).ok()
}

/// Numbers that no two runs share.
///
/// # Errors
/// When the machine has none.
pub(super) fn random() -> std::io::Result<[u64; 4]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut numbers = [0; 4];
    for (number, chunk) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = chunk.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use culprit_model::{Row as _, Thread};

    use super::*;

    fn table(files: &[&str]) -> TableFiles {
        TableFiles {
            table: Thread::TABLE,
            files: files.iter().map(|file| PathBuf::from(file).into()).collect(),
        }
    }

    fn shown(slice: &Slice) -> Vec<Vec<String>> {
        let of =
            |table: &TableFiles| table.files.iter().map(|f| f.path.display().to_string()).collect();
        slice.tables.iter().map(of).collect()
    }

    #[test]
    fn a_slice_is_one_place_of_every_table() {
        let tables = [
            table(&[
                "s/visits/day=1/shard=0/a",
                "s/visits/day=1/shard=1/a",
                "s/visits/day=2/shard=0/a",
            ]),
            table(&["s/contacts/shard=0/a", "s/contacts/shard=1/a"]),
            table(&["s/terms/a"]),
        ];
        let mut names = BTreeSet::new();
        for random in 0..100 {
            let slice = Slice::choose(&tables, random);
            let files = shown(&slice);
            let shard = slice.name.split_once("shard=").unwrap().1.to_owned();
            assert_eq!(files[0], [format!("s/visits/{}/a", slice.name)]);
            assert_eq!(files[1], [format!("s/contacts/shard={shard}/a")]);
            assert_eq!(files[2], ["s/terms/a"]);
            names.insert(slice.name);
        }
        assert_eq!(names.len(), 3, "every place is chosen some time");
    }

    #[test]
    fn a_folder_without_places_is_a_slice_by_its_files() {
        let slice = Slice::choose(&[table(&["s/terms/a"]), table(&[])], 7);
        assert_eq!(slice.name, "some of its files");
        assert_eq!(shown(&slice), [vec!["s/terms/a".to_owned()], Vec::new()]);
    }
}
