//! What an import warns of: what the reader of the store must know.

use std::path::{Path, PathBuf};

use culprit_model::{Label as _, counted};

use super::counts::{Counts, SourceState};
use super::duplicates::FileCopy;
use super::gather::Gatherer;
use super::joins::Joins;
use super::logs::{ClientsKind, UnusualClients};
use super::plan::Plan;
use super::{ImportOptions, SourceFormat};
use crate::error::Error;
use crate::schema::ImportSource;
use crate::store::{RememberedImport, Store};
use crate::visits::Zone;

/// What the reader of the store must know, of rows and of sources.
pub(super) fn all_warnings(
    (options, plan): (&ImportOptions, &Plan),
    (gatherer, joins): (&Gatherer, &Joins),
    store: &Store,
) -> Result<Vec<String>, Error> {
    let mut warnings = warnings(options, &gatherer.counts);
    warnings.extend(other_zone((options, plan), gatherer, store));
    warnings.extend(unused_zone((options, plan), gatherer, store));
    warnings.extend(places_of_new_rows((options, plan), &gatherer.counts, store));
    warnings.extend(joins.warnings(&options.fields));
    let unusual = joins.unusual_clients().iter();
    warnings.extend(unusual.map(|clients| unusual_clients(clients, (options, plan), gatherer)));
    if plan.format.is_joined() {
        let sources = gatherer.sources.iter();
        warnings.extend(sources.filter_map(|source| nothing_read(source, plan.format)));
    }
    warnings.extend(two_measures(store, plan.format, &gatherer.counts)?);
    warnings.extend(plan.copies.iter().map(FileCopy::warning));
    Ok(warnings)
}

/// What the reader of the store must know of rows.
fn warnings(options: &ImportOptions, counts: &Counts) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(zone @ Zone::Fixed(_)) = options.zone {
        warnings.push(format!(
            "{} is a fixed shift: where clocks change, times are an hour off for half of the year. \
             Give a zone such as Europe/Kyiv",
            zone.name()
        ));
    }
    if counts.late > 0 {
        warnings.push(format!(
            "{} changed more than {} before the newest one of the store. An export that begins at the \
             watermark would miss such rows; `culprit audit refresh --late HOURS` moves its beginning",
            counted(counts.late, "row"),
            counted(options.late_ms.max(0).cast_unsigned() / 3_600_000, "hour")
        ));
    }
    if counts.times_skipped > 0 {
        warnings.push(format!(
            "{} in the hour that the clock left out, counted as an hour later",
            counted(counts.times_skipped, "time")
        ));
    }
    if counts.times_repeated > 0 {
        warnings.push(format!(
            "{} in the hour that the clock showed twice: the order of the lines decided, and without \
             an order the first hour counts",
            counted(counts.times_repeated, "time")
        ));
    }
    warnings
}

/// That no line of a log is about a request. A table of an xDB that a store does not need is no error.
fn nothing_read(source: &SourceState, format: SourceFormat) -> Option<String> {
    let why = match format {
        SourceFormat::JsonLog => {
            "none has a field that is known as the client's address, the path or the request. Name \
             them with `--field address=NAME`, `--field path=NAME` and `--field time=NAME`"
        }
        _ => "check that `--from` names its format",
    };
    (source.rows > 0 && source.ignored == source.rows)
        .then(|| format!("no row of `{}` is one that a store needs: {why}", source.name))
}

/// The name of a zone of times without an offset.
fn zone_name(zone: Option<&str>) -> &str {
    match zone {
        None | Some("+00:00") => "UTC",
        Some(name) => name,
    }
}

/// Earlier imports of formats that tell the same visits, whose times may name no offset.
fn earlier(store: &Store, format: SourceFormat) -> impl Iterator<Item = &RememberedImport> {
    store.manifest().imports.iter().filter(move |import| {
        let known = SourceFormat::from_word(&import.format);
        known.is_some_and(|known| known.family() == format.family() && known.has_local_times())
    })
}

fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}

/// That the store has times of the same rows in another zone. Rows of tables have keys: those that
/// are in the store stay as they are. Visits of a log have none: they are in it twice.
fn other_zone(
    (options, plan): (&ImportOptions, &Plan),
    gatherer: &Gatherer,
    store: &Store,
) -> Option<String> {
    if gatherer.times_local == 0 {
        return None;
    }
    let name = options.zone.map(Zone::name);
    let now = zone_name(name.as_deref());
    let sources: Vec<PathBuf> = options.sources.iter().map(absolute).collect();
    let is_joined = plan.format.is_joined();
    let is_same = |import: &&RememberedImport| {
        !is_joined || import.sources.iter().any(|source| sources.contains(source))
    };
    let zones: Vec<&str> = earlier(store, plan.format)
        .filter(is_same)
        .map(|import| zone_name(import.zone.as_deref()))
        .collect();
    let other = zones.first().filter(|_| !zones.contains(&now))?;
    let new_store = format!("import all sources into a new store with `--tz {now}`");
    if is_joined {
        return Some(format!(
            "the store has these sources in the zone {other}, and this import reads them in {now}: \
             their visits are in the store twice. To have one zone, {new_store}"
        ));
    }
    let unchanged = gatherer.counts.unchanged;
    (unchanged > 0).then(|| {
        format!(
            "the store has times of the zone {other}, and this import reads them in {now}: rows that are \
             already in the store keep their times ({}). To change the zone, {new_store}",
            counted(unchanged, "row")
        )
    })
}

/// That `--tz` changes nothing in a log, once.
fn unused_zone(
    (options, plan): (&ImportOptions, &Plan),
    gatherer: &Gatherer,
    store: &Store,
) -> Option<String> {
    let zone = options.zone.map(Zone::name)?;
    let counts = &gatherer.counts;
    let has_times = counts.interactions + counts.unchanged > 0;
    let is_unused = plan.format.is_joined() && has_times && gatherer.times_local == 0;
    let mut earlier = earlier(store, plan.format);
    let is_told = earlier.any(|import| import.zone.as_deref() == Some(&*zone));
    (is_unused && !is_told)
        .then(|| "`--tz` has no effect: all times of the sources name their offset".to_owned())
}

/// That `--geoip` leaves the rows alone that were in the store before it was given.
fn places_of_new_rows(
    (options, plan): (&ImportOptions, &Plan),
    counts: &Counts,
    store: &Store,
) -> Option<String> {
    let knows = |import: &RememberedImport, database: &Path| {
        import.geoip.iter().any(|known| known == database)
    };
    let is_new = |database: &PathBuf| {
        let database = absolute(database);
        !store.manifest().imports.iter().any(|import| knows(import, &database))
    };
    // Imports of databases are not remembered: their rows may have their places already.
    let is_silent = plan.format.is_database() && counts.interactions > 0;
    let has_new = options.geoip.iter().any(is_new);
    (has_new && !is_silent && counts.unchanged > 0).then(|| {
        let noun = if plan.format.is_joined() { "visit" } else { "row" };
        format!(
            "`--geoip` finds places of new rows only: those already in the store stay as they are ({}). \
             To find their places, import all sources into a new store with `--geoip`",
            counted(counts.unchanged, noun)
        )
    })
}

/// That the addresses of a log are hardly those of its clients. An address that must be hashed is not
/// shown.
fn unusual_clients(
    clients: &UnusualClients,
    (options, plan): (&ImportOptions, &Plan),
    gatherer: &Gatherer,
) -> String {
    let UnusualClients { source, lines, kind, count, example } = clients;
    let name = gatherer.sources.get(*source).map_or("", |source| &*source.name);
    let shown = options.hash_ip.is_none();
    let of = format!("{count} of {lines} lines of `{name}`");
    match kind {
        ClientsKind::One => {
            let which = if shown { format!(", `{example}`") } else { String::new() };
            let field = match plan.format.has_named_fields() {
                true => ", or name its field with `--field address=NAME`",
                false => "",
            };
            format!(
                "{of} have the same address{which}: nearly all visits are those of one visitor. If it \
                 is the address of a proxy or of the site, log the client's address{field}"
            )
        }
        ClientsKind::Names => {
            let which = if shown { format!(", such as `{example}`") } else { String::new() };
            format!(
                "{of} have a name instead of an IP address{which}: `cidr=` and `--geoip` find no place \
                 for them. Check that it is the name of the client"
            )
        }
    }
}

/// That two programs measured the visits of a store: what both saw counts twice.
fn two_measures(
    store: &Store,
    format: SourceFormat,
    counts: &Counts,
) -> Result<Option<String>, Error> {
    if counts.interactions == 0 {
        return Ok(None);
    }
    let sources = store.read::<ImportSource>()?;
    let known = sources.iter().filter_map(|source| SourceFormat::from_word(&source.format));
    let other = known.map(SourceFormat::family).find(|family| *family != format.family());
    Ok(other.map(|other| {
        format!(
            "the store has visits of {other}, and now of {}: visits that both saw count twice. Use a \
             store for each",
            format.family()
        )
    }))
}
