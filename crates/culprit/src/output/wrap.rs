//! Prose in lines of a given width.

/// `text` in lines of at most `width` characters, each after `indent`; words are never cut.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    for paragraph in text.lines() {
        let mut line = String::from(indent);
        let mut empty = true;
        for word in paragraph.split_whitespace() {
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
            line.push_str(word);
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
}
