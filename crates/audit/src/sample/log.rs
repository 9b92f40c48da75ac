//! The access log of the same visits, in the combined format.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::export::TableFile;
use super::truth::Truth;
use super::visit::Visit;
use super::world::ASSETS;
use super::{SampleError, SampleFormat};
use crate::time::{DAY_MS, date, put_clock};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The site's own address in referrers.
const SITE: &str = "https://www.site.example";

/// A line that is to be written: second, visit, position within it.
type Pending = (i64, u64, usize, Vec<u8>);

/// A log under way. Lines are written in the order of their times, also across midnight.
#[derive(Debug)]
pub(crate) struct AccessLog {
    folder: PathBuf,
    file: TableFile,
    pending: BinaryHeap<Reverse<Pending>>,
}

impl AccessLog {
    pub(crate) fn create(folder: &Path) -> Result<Self, SampleError> {
        let file = TableFile::create(folder, "access", &[], SampleFormat::AccessLog)?;
        Ok(Self { folder: folder.to_owned(), file, pending: BinaryHeap::new() })
    }

    /// Adds a visit's requests; with `broken`, a line without its closing quote first.
    pub(crate) fn visit(&mut self, visit: &Visit, broken: bool) {
        let mut position = 0;
        let mut add = |at: i64, path: &str, referrer: &str, broken: bool| {
            let mut line = Vec::with_capacity(260);
            put_line(&mut line, visit, (at, path, referrer));
            if broken {
                line.pop();
            }
            self.pending.push(Reverse((at / 1000, visit.number, position, line)));
            position += 1;
        };
        if broken {
            add(visit.start, "/", "-", true);
        }
        if visit.robots_txt {
            add(visit.start, "/robots.txt", "-", false);
        }
        let mut from =
            if visit.referrer.is_empty() { "-".to_owned() } else { visit.referrer.clone() };
        for (at, view) in visit.views.iter().enumerate() {
            add(view.at, view.page, &from, false);
            from = format!("{SITE}{}", view.page);
            let assets = if at == 0 { &ASSETS[..] } else { &ASSETS[3..] };
            for asset in assets.iter().filter(|_| visit.loads_assets) {
                add(view.at + 120, asset, &from, false);
            }
        }
    }

    /// Writes the lines before a moment.
    pub(crate) fn write_until(&mut self, ms: i64) -> Result<(), SampleError> {
        while let Some(Reverse((second, ..))) = self.pending.peek() {
            if *second >= ms / 1000 {
                break;
            }
            let Some(Reverse((.., line))) = self.pending.pop() else { break };
            self.file.text(&self.folder, &line)?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, truth: &mut Truth) -> Result<(), SampleError> {
        self.write_until(i64::MAX)?;
        let (rows, bytes) = self.file.finish(&self.folder)?;
        truth.file("access.log", rows, bytes);
        Ok(())
    }
}

fn put_line(out: &mut Vec<u8>, visit: &Visit, (at, path, referrer): (i64, &str, &str)) {
    let [a, b, c, d] = visit.person.address;
    let day = date(at.div_euclid(DAY_MS));
    let month = MONTHS[usize::try_from(day.month - 1).unwrap_or(0)];
    let _ = write!(out, "{a}.{b}.{c}.{d} - - [{:02}/{month}/{}:", day.day, day.year);
    put_clock(out, at);
    let bytes = 900 + path.len() * 37;
    let _ = write!(
        out,
        " +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"{referrer}\" \"{}\"",
        visit.person.user_agent
    );
}
