//! Faults of texts that users read: riddles, long sentences, long paragraphs.

/// Phrases that make a reader read twice, in lower case. Whole words are
/// compared.
const PHRASES: &[&str] = &[
    "a look",
    "are none",
    "between looks",
    "but for a",
    "but for the",
    "chore",
    "chores",
    "comes upon",
    "each look",
    "ever differently",
    "gets on",
    "gift",
    "gifts",
    "hand-over",
    "is none of",
    "last look",
    "looks at what",
    "mend",
    "mended",
    "mends",
    "neither does",
    "next look",
    "nobody asks",
    "said of",
    "so it does",
    "so they do",
    "somebody",
    "stretch",
    "stretches",
    "tells",
    "that is none",
    "the look",
    "told",
    "toll",
    "two looks",
    "where there are none",
    "where there is none",
    "who looks",
    "who pauses",
    "who sets",
    "who waits",
    "whoever",
];
/// Words of the longest sentence.
const SENTENCE: usize = 30;
/// Words of the longest paragraph.
const PARAGRAPH: usize = 90;

/// What is wrong with a paragraph; code between backticks counts as one word.
#[must_use]
pub fn faults(paragraph: &str) -> Vec<String> {
    let prose = without_code(paragraph);
    let words: Vec<String> = prose.split_whitespace().map(plain).collect();
    let text = format!(" {} ", words.join(" "));
    let phrases = PHRASES.iter().filter(|phrase| text.contains(&format!(" {phrase} ")));
    let mut faults: Vec<String> = phrases.map(|phrase| format!("`{phrase}`")).collect();
    for sentence in sentences(&prose) {
        let words = sentence.split_whitespace();
        let is_word = |word: &&str| word.contains(char::is_alphanumeric) && !word.contains("CODE");
        let count = words.filter(is_word).count();
        if count > SENTENCE {
            faults.push(format!("a sentence of {count} words: {}", sentence.trim()));
        }
    }
    if words.len() > PARAGRAPH {
        faults.push(format!("a paragraph of {} words", words.len()));
    }
    faults.iter().map(|fault| format!("{fault} in: {}", beginning(paragraph))).collect()
}

/// What is wrong with the prose of a page in Markdown: its paragraphs, items of lists and cells of
/// tables.
#[must_use]
pub fn faults_of_page(page: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut fenced = false;
    for line in page.lines() {
        let text = line.trim_start();
        let fence = text.starts_with("```");
        fenced ^= fence;
        if fence || fenced || text.starts_with("<!--") {
            paragraphs.push(String::new());
            continue;
        }
        let item = text.starts_with(['-', '*', '#', '|'])
            || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        if item || text.is_empty() {
            paragraphs.push(String::new());
        }
        match text.starts_with('|') {
            true => paragraphs.extend(text.split('|').map(str::to_owned)),
            false => paragraphs.last_mut().expect("never empty").push_str(&format!("{text}\n")),
        }
    }
    paragraphs.iter().flat_map(|paragraph| faults(paragraph)).collect()
}

/// A word without punctuation around it, in lower case.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Code between backticks becomes one word; what an option takes and where it is set, in brackets at the
/// end of its help, is left out.
fn without_code(text: &str) -> String {
    let text = [" [possible values:", " [env:", " [default:"].iter().fold(text, |text, listed| {
        let flat = text.find(listed);
        flat.map_or(text, |at| &text[..at])
    });
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { "CODE" } else { part }).collect()
}

/// Sentences end at `.`, `!`, `?`, `:` or `;` before a space; lines of a list are sentences, too.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        let sentence = sentences.last_mut().expect("never empty");
        sentence.push(' ');
        sentence.push_str(word);
        if word.trim_end_matches([')', '"', '*']).ends_with(['.', '!', '?', ':', ';']) {
            sentences.push(String::new());
        }
    }
    sentences
}

fn beginning(text: &str) -> String {
    text.trim().chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::{PARAGRAPH, SENTENCE, faults, faults_of_page};

    #[test]
    fn riddles_and_long_sentences_are_faults() {
        assert_eq!(faults("The thread sleeps 1 s between checks."), [""; 0]);
        let riddle = faults("For 2 s nobody works; so they do, whoever it is.");
        assert_eq!(riddle.len(), 2, "{riddle:?}");
        // A name in code is not prose.
        assert_eq!(faults("The function `chore` waits."), [""; 0]);
        assert_eq!(faults(&"word ".repeat(SENTENCE + 1)).len(), 1);
        assert_eq!(faults(&"A word. ".repeat(PARAGRAPH / 2 + 1)).len(), 1);
    }

    #[test]
    fn a_page_is_judged_by_paragraph_item_and_cell() {
        let many = "word ".repeat(SENTENCE);
        let page = format!(
            "# {many}\n- {many}\n- {many}\n\n| {many} | {many} |\n\n```\n{many}{many}\n```\n"
        );
        assert_eq!(faults_of_page(&page), [""; 0]);
        assert_eq!(faults_of_page(&format!("{many}\n{many}")).len(), 1);
    }
}
