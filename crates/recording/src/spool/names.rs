//! Names of a spool's entries: `FOLDER/TABLE.NUMBER.EXTENSION`.

use std::fmt;

/// What `latest/` calls the newest `meta.json`.
pub(crate) const META_LATEST: &str = "meta";

/// How long an entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Folder {
    /// For ever: other rows point into it.
    Parts,
    /// Until the bound on the file's size needs its place.
    Events,
    /// Until the next one of its name.
    Latest,
}

impl Folder {
    const ALL: [Self; 3] = [Self::Parts, Self::Events, Self::Latest];

    fn word(self) -> &'static str {
        match self {
            Self::Parts => "parts",
            Self::Events => "events",
            Self::Latest => "latest",
        }
    }
}

/// The name of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartName {
    /// How long it is kept.
    pub(crate) folder: Folder,
    /// Of which table; [`META_LATEST`] for `meta.json`.
    pub(crate) table: String,
    /// The how-manieth of its table in its folder, from 1 on.
    pub(crate) number: u64,
}

impl PartName {
    /// Takes an entry's name apart; none for names that a spool never has.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (folder, rest) = name.split_once('/')?;
        let folder = Folder::ALL.into_iter().find(|f| f.word() == folder)?;
        let rest = rest.strip_suffix(".parquet").or_else(|| rest.strip_suffix(".json"))?;
        let (table, number) = rest.rsplit_once('.')?;
        Some(Self { folder, table: table.to_owned(), number: number.parse().ok()? })
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extension = if self.table == META_LATEST { "json" } else { "parquet" };
        write!(f, "{}/{}.{:06}.{extension}", self.folder.word(), self.table, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for (folder, table) in
            [(Folder::Parts, "stacks"), (Folder::Events, "switches"), (Folder::Latest, META_LATEST)]
        {
            let name = PartName { folder, table: table.into(), number: 12 };
            assert_eq!(PartName::parse(&name.to_string()), Some(name));
        }
        for other in ["meta.json", "parts/x.parquet", "parts/x.y.parquet", "bits/x.000001.parquet"]
        {
            assert_eq!(PartName::parse(other), None, "{other}");
        }
    }
}
