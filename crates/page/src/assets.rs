//! The files of the page.

use std::io::Read as _;

/// One file of the page.
#[derive(Debug)]
pub struct Asset {
    /// From the page's root on: `assets/app.js`.
    pub path: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// Its content, compressed by gzip.
    pub gzip: &'static [u8],
}

/// All files of `ui/dist`.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// All files, in the order of their paths.
#[must_use]
pub const fn assets() -> &'static [Asset] {
    ASSETS
}

/// The file of a path.
#[must_use]
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    /// Its content as text, as it was built. Empty for what is none: the build writes no such file.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let read = flate2::read::GzDecoder::new(self.gzip).read_to_string(&mut text);
        read.map(|_| text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_in_the_program() {
        let page = asset("index.html").unwrap();
        assert_eq!(page.media, "text/html; charset=utf-8");
        assert!(page.text().starts_with("<!doctype html>"));
        assert!(asset("manifest.json").is_none() && asset("").is_none());
        let fetched =
            |asset: &Asset| asset.path == "index.html" || asset.path.starts_with("assets/");
        assert!(assets().iter().all(fetched));
    }
}
