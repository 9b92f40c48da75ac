//! Tokens of a known form.

/// How tokens of well-known services begin, with the fewest characters that follow.
pub(super) const TOKENS: &[(&str, usize)] = &[
    ("AGE-SECRET-KEY-", 20),
    ("AIza", 30),
    ("AKIA", 12),
    ("ASIA", 12),
    ("Basic ", 8),
    ("Bearer ", 8),
    ("SG.", 20),
    ("dop_v1_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hvs.", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("rk_live_", 12),
    ("rk_test_", 12),
    ("shpat_", 20),
    ("sk-", 20),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("whsec_", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("ya29.", 20),
];

/// The first characters of tokens, by their number.
const FIRST: [bool; 128] = {
    let mut first = [false; 128];
    let mut at = 0;
    while at < TOKENS.len() {
        first[TOKENS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};

/// Whether a text holds a token of a known form.
pub(super) fn has_token(text: &str) -> bool {
    let starts_here = |rest: &str| {
        TOKENS.iter().any(|(start, more)| {
            let rest = rest.strip_prefix(start).unwrap_or_default();
            rest.chars().take_while(|c| is_token_character(*c)).count() >= *more
        })
    };
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let may_start = !in_word && FIRST.get(c as usize).is_some_and(|first| *first);
        if may_start && starts_here(&text[at..]) {
            return true;
        }
        in_word = c.is_alphanumeric();
    }
    // PEM (RFC 7468) and JSON Web Tokens (RFC 7519): three parts, the first of which is `{"` in Base64.
    text.contains("-----BEGIN")
        || text.contains("eyJ") && text.split(|c| !is_token_character(c)).any(is_web_token)
}

fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() > 30 && word.matches('.').count() >= 2
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~')
}
