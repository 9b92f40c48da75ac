//! Command lines: parameters put in, and split into words where no shell does it.

/// Puts values where `{NAME}` stands.
#[must_use]
pub(crate) fn fill(line: &str, parameters: &[(String, String)]) -> String {
    let fill = |line: String, (name, value): &(String, String)| {
        line.replace(&format!("{{{name}}}"), value)
    };
    parameters.iter().fold(line.to_owned(), fill)
}

/// Splits a command line as a shell splits words: at blanks, but for those in quotes or behind a
/// backslash (POSIX XCU 2.2). Nothing else of a shell is understood. None when a quote is not closed.
#[must_use]
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next()? {
                        '\'' => break,
                        sign => word.push(sign),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next()? {
                        '"' => break,
                        '\\' => match signs.next()? {
                            sign @ ('"' | '\\' | '$' | '`') => word.push(sign),
                            sign => word.extend(['\\', sign]),
                        },
                        sign => word.push(sign),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(signs.next()?),
            sign if sign.is_whitespace() => words.extend(word.take()),
            sign => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = |line| split(line).map(|words| words.join("|"));
        for (line, words) in [
            ("ls  -l\t/", "ls|-l|/"),
            ("a 'b c' \"d e\"", "a|b c|d e"),
            (r#"a\ b "\"$x\n" ''"#, r#"a b|"$x\n|"#),
            ("x'y'z", "xyz"),
            ("", ""),
        ] {
            assert_eq!(split(line).as_deref(), Some(words), "{line}");
        }
        assert!(split("a 'b").is_none() && split("a \"b").is_none() && split("a\\").is_none());
    }

    #[test]
    fn parameters_go_where_their_names_stand() {
        let parameters = [("n".to_owned(), "4".to_owned()), ("m".to_owned(), "x y".to_owned())];
        assert_eq!(fill("make -j{n} {m} {o} {{n}}", &parameters), "make -j4 x y {o} {4}");
    }
}
