//! Worked questions: what people want to know, as SQL. One file a question in `questions/`; the
//! first comment is its title, the second what to read in the answer.

macro_rules! questions {
    ($($name:literal,)+) => {
        const QUESTIONS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("questions/", $name, ".sql"))),)+];
    };
}
questions! {
    "threads",
    "waits",
    "functions",
    "callers",
    "longest",
    "lock-holders",
    "slices",
    "beside",
    "losses",
    "accounts",
}

/// A worked question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// A word for it.
    pub name: &'static str,
    /// What one wants to know.
    pub title: &'static str,
    /// What to read in the answer.
    pub reading: &'static str,
    /// The question.
    pub sql: &'static str,
}

/// Every worked question.
#[must_use]
pub fn questions() -> Vec<Question> {
    let question = |(name, text): &(&'static str, &'static str)| {
        let mut parts = text.splitn(3, '\n');
        let mut comment = || parts.next().unwrap_or_default().trim_start_matches("-- ");
        let (title, reading) = (comment(), comment());
        Question { name, title, reading, sql: parts.next().unwrap_or_default().trim() }
    };
    QUESTIONS.iter().map(question).collect()
}
