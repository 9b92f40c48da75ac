//! Closed lists of words: an enum in memory, its word in files, JSON, filters and prose.

use thiserror::Error;

/// A closed list of words. The words are part of the public interface and never change.
pub trait Label: Copy + Sized + 'static {
    /// Every word, in declaration order; the position is the code.
    const WORDS: &'static [&'static str];
    /// Every value, in the same order.
    const ALL: &'static [Self];

    /// The position in [`Label::WORDS`].
    fn code(self) -> u8;

    /// The word.
    fn word(self) -> &'static str {
        Self::WORDS[usize::from(self.code())]
    }

    /// The value whose word is `word`, if there is one.
    fn from_word(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|w| *w == word)?;
        Self::ALL.get(at).copied()
    }
}

/// A word that is not in the closed list of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{word}`; use one of: {known}")]
#[non_exhaustive]
pub struct UnknownLabel {
    /// What was being read: `cause`, `metric`, ...
    pub kind: &'static str,
    /// The word that was found.
    pub word: String,
    /// Every known word, joined by commas.
    pub known: String,
}

impl UnknownLabel {
    /// `word` was read where a word of `kind` was expected, and is not in `known`.
    #[must_use]
    pub fn new(kind: &'static str, word: &str, known: &[&str]) -> Self {
        Self { kind, word: word.to_owned(), known: known.join(", ") }
    }
}

/// Declares an enum whose values have words: a [`Label`] that is a [`Cell`](crate::Cell) too.
///
/// ```
/// culprit_model::labels! {
///     /// Which way a door is.
///     Door ("door") {
///         /// One can pass.
///         Open = "open",
///         /// One cannot.
///         Shut = "shut",
///     }
/// }
/// assert_eq!("shut".parse(), Ok(Door::Shut));
/// ```
#[macro_export]
macro_rules! labels {
    ($(#[$doc:meta])* $name:ident ($kind:literal) { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        /// The first word: what a missing cell of a nullable column is stored as.
        impl Default for $name {
            fn default() -> Self {
                <Self as $crate::Label>::ALL[0]
            }
        }

        impl $crate::Label for $name {
            const WORDS: &'static [&'static str] = &[$($word,)+];
            const ALL: &'static [Self] = &[$(Self::$variant,)+];
            fn code(self) -> u8 {
                self as u8
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::Label::word(*self))
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownLabel;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                $crate::Label::from_word(word).ok_or_else(|| {
                    $crate::UnknownLabel::new($kind, word, <Self as $crate::Label>::WORDS)
                })
            }
        }

        impl $crate::Cell for $name {
            const TYPE: $crate::ColumnType =
                $crate::ColumnType::Label(<Self as $crate::Label>::WORDS);
            const UNIT: &'static str = "";

            fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> $crate::ColumnData {
                $crate::ColumnData::label(
                    cells.map(|c| $crate::Label::code(*c)).collect(),
                    <Self as $crate::Label>::WORDS,
                )
            }

            fn scatter(
                column: $crate::ColumnData,
            ) -> Result<Vec<Self>, $crate::ShapeError> {
                let all = <Self as $crate::Label>::ALL;
                column.into_codes(<Self as $crate::Label>::WORDS)?
                    .into_iter()
                    .map(|code| {
                        all.get(usize::from(code)).copied().ok_or($crate::ShapeError::Code {
                            kind: $kind,
                            code,
                        })
                    })
                    .collect()
            }
        }
    };
}
pub(crate) use labels;
