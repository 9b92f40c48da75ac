//! Prose in lines of a given width.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Units that stay on the line of their number.
const UNITS: [&str; 11] = ["ns", "us", "ms", "s", "min", "h", "%", "KiB", "MiB", "GiB", "CPUs"];

/// Between a number and its unit while lines are made.
const TOGETHER: char = '\u{a0}';

/// A paragraph's words with single spaces; a number and its unit are one word.
fn words(paragraph: &str) -> String {
    let mut text = String::with_capacity(paragraph.len());
    for word in paragraph.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let is_unit = UNITS.contains(&bare) && text.ends_with(|c: char| c.is_ascii_digit());
        if !text.is_empty() {
            text.push(if is_unit { TOGETHER } else { ' ' });
        }
        text.push_str(word);
    }
    text
}

/// `text` in lines of at most `width` columns, each after `indent`; words are never cut.
#[must_use]
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let options = Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let mut out = String::new();
    for paragraph in text.lines() {
        for line in textwrap::wrap(&words(paragraph), &options) {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out.replace(TOGETHER, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_every_line_is_indented() {
        assert_eq!(
            wrap("the reader chose to poll", 14, "  "),
            "  the reader\n  chose to\n  poll\n"
        );
        assert_eq!(wrap("unbreakable-word", 5, ""), "unbreakable-word\n");
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(wrap("8.11 s against 524 ms.", 18, ""), "8.11 s against\n524 ms.\n");
        assert_eq!(wrap("a s", 2, ""), "a\ns\n");
    }
}
