//! Results of experiments: `bench cmd`, `verify`, `why`, the casebook.

mod bench_json;
mod bench_text;
mod casebook_json;
mod casebook_text;
mod tables;
mod verdicts;
mod why_json;
mod why_page;
mod why_text;
mod why_words;

pub use bench_json::{BenchDocument, VerifyDocument};
pub use bench_text::{bench_text, verify_text};
pub use casebook_json::{CaseDocument, CaseJson, CaseRunDocument, CasesDocument};
pub use casebook_text::{case_outcome_text, case_sentence, case_text, casebook_text, cases_text};
pub use tables::{HyperfineDocument, bench_csv, bench_markdown, hyperfine};
pub use why_json::WhyDocument;
pub use why_page::compare_section;
pub use why_text::why_text;
pub use why_words::{because, fact_value, verdict, wall_text};
