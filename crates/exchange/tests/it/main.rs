//! Every fixture is read with and without its telling name, and damaged in every way.

#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod hostile;
mod jfr;
mod jfr_file;
mod nettrace;
mod nettrace_file;
mod no_build_ids;
mod perf_script;
mod recorded;
mod reported;
mod round_trip;
mod synthetic;
mod text_properties;
mod values;
