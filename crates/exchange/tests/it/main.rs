//! Every fixture is read with and without its telling name, and damaged in every way.

mod hostile;
mod jfr;
mod jfr_file;
mod nettrace;
mod nettrace_file;
mod recorded;
mod round_trip;
mod synthetic;
mod values;

/// Holds a fixture that a test writes against what is stored; `CULPRIT_BLESS=1` stores it.
fn blessed(path: &std::path::Path, bytes: &[u8]) {
    if std::env::var_os("CULPRIT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a fixture");
    }
    let stored = std::fs::read(path).unwrap_or_default();
    assert!(stored == bytes, "{}: written anew it differs; `make bless` stores it", path.display());
}
