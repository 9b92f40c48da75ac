//! Prose in lines of a given width.

/// Units that stay on the line of their number.
const UNITS: [&str; 11] = ["ns", "us", "ms", "s", "min", "h", "%", "KiB", "MiB", "GiB", "CPUs"];

/// Words as they must stay together: a number and its unit are one.
fn words(paragraph: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let numbered = |last: &String| last.ends_with(|c: char| c.is_ascii_digit());
        match words.last_mut().filter(|last| UNITS.contains(&bare) && numbered(last)) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// `text` in lines of at most `width` characters, each after `indent`; words are never cut.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    for paragraph in text.lines() {
        let mut line = String::from(indent);
        let mut empty = true;
        for word in words(paragraph) {
            let longer = line.chars().count() + usize::from(!empty) + word.chars().count();
            if !empty && longer > width {
                out.push_str(&line);
                out.push('\n');
                line = String::from(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
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
