//! Logs of the same visits: requests in the forms of access logs, events of analytics tools.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use super::export::TableFile;
use super::lines::{Shown, header, put_event, put_request};
use super::truth::Truth;
use super::visit::Visit;
use super::world::ASSETS;
use super::{SampleError, SampleFormat};

/// The site's own address in referrers.
pub(super) const SITE: &str = "https://www.site.example";

/// A line that is to be written: second, visit, position within it.
type Pending = (i64, u64, usize, Vec<u8>);

/// A log under way. Lines are written in the order of their times, also across midnight.
#[derive(Debug)]
pub(crate) struct AccessLog {
    folder: PathBuf,
    format: SampleFormat,
    file: TableFile,
    pending: BinaryHeap<Reverse<Pending>>,
}

impl AccessLog {
    pub(crate) fn create(folder: &Path, format: SampleFormat) -> Result<Self, SampleError> {
        let mut file = TableFile::create(folder, name(format), &[], format)?;
        file.comments(folder, header(format))?;
        Ok(Self { folder: folder.to_owned(), format, file, pending: BinaryHeap::new() })
    }

    /// Adds a visit; with `broken`, a line first that ends too early.
    pub(crate) fn visit(&mut self, visit: &Visit, broken: bool) {
        if matches!(self.format, SampleFormat::SnowplowTsv | SampleFormat::Ga4Json) {
            self.events(visit, broken);
        } else {
            self.requests(visit, broken);
        }
    }

    /// Adds a visit's events.
    fn events(&mut self, visit: &Visit, broken: bool) {
        for (at, view) in visit.views.iter().enumerate() {
            let mut line = Vec::with_capacity(600);
            put_event(&mut line, self.format, visit, view);
            if broken && at == 0 {
                let half = line[..line.len() / 2].to_vec();
                self.pending.push(Reverse((view.at / 1000, visit.number, 0, half)));
            }
            self.pending.push(Reverse((view.at / 1000, visit.number, at + 1, line)));
        }
    }

    fn requests(&mut self, visit: &Visit, broken: bool) {
        let mut position = 0;
        let mut add = |at: i64, path: &str, referrer: &str, broken: bool| {
            let mut line = Vec::with_capacity(260);
            put_request(&mut line, self.format, visit, Shown { at, path, referrer });
            if broken {
                let whole = line.len();
                // The combined format without its closing quote, others without their half.
                let kept =
                    if self.format == SampleFormat::AccessLog { whole - 1 } else { whole / 2 };
                line.truncate(kept);
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
        truth.file(&format!("{}.{}", name(self.format), self.format.ending()), rows, bytes);
        Ok(())
    }
}

/// The name of a format's file, without its ending.
fn name(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::Iis => "iis",
        SampleFormat::CloudFront => "cloudfront",
        SampleFormat::Elb => "elb",
        SampleFormat::SnowplowTsv => "snowplow",
        SampleFormat::Ga4Json => "ga4",
        _ => "access",
    }
}
