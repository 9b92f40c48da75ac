//! The built page, out of the program itself.

/// One file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    /// From the page's root on: `assets/app.js`.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) media: &'static str,
    /// Whether the bytes are compressed.
    pub(crate) gzip: bool,
    /// Its content.
    pub(crate) bytes: &'static [u8],
}

/// All files of `ui/dist`.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The file of a path.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_in_the_program() {
        let page = asset("index.html").unwrap();
        assert_eq!(page.media, "text/html; charset=utf-8");
        assert!(!page.bytes.is_empty());
        assert!(asset("manifest.json").is_none() && asset("").is_none());
        let fetched =
            |asset: &Asset| asset.path == "index.html" || asset.path.starts_with("assets/");
        assert!(ASSETS.iter().all(fetched));
    }
}
