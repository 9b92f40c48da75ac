//! Long random texts.

/// The shortest word that may be a key: 20 characters are 120 bits in Base64.
const RANDOM_LENGTH: usize = 20;
/// Bits a character above which a word of that length is not language. English words and paths have
/// at most about 3.4; 20 random characters of 64 have about 4.1, and 32 hexadecimal digits about 3.6.
const RANDOM_BITS: f64 = 3.45;

/// Whether a text holds a word that looks like random data.
pub(super) fn looks_random(text: &str) -> bool {
    let separators = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-'));
    text.split(separators).any(|word| {
        // Base64 of a key has a slash now and then; a word of several is a path.
        let is_path = word.starts_with('/') || word.matches('/').count() > 2;
        if is_path { word.split('/').any(is_random_word) } else { is_random_word(word) }
    })
}

fn is_random_word(word: &str) -> bool {
    if word.len() < RANDOM_LENGTH {
        return false;
    }
    let count = |which: fn(char) -> bool| word.chars().filter(|c| which(*c)).count();
    let digits = count(|c| c.is_ascii_digit());
    let mixed = count(|c| c.is_ascii_uppercase()) > 0 && count(|c| c.is_ascii_lowercase()) > 0;
    // `gcc-12-x86_64-linux-gnu-2024`: words of one case that separators join are a name.
    let is_name = !mixed && word.contains(['-', '_']);
    let fewest_digits = if mixed { 2 } else { 4 };
    digits >= fewest_digits
        && digits < word.len()
        && !is_name
        && !is_uuid(word)
        && bits_a_character(word) >= RANDOM_BITS
}

/// Identifiers of tenants, subscriptions and rows have this form (RFC 9562), and name no secret.
fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Shannon's entropy of the characters of a word.
fn bits_a_character(word: &str) -> f64 {
    let mut counts = [0_u32; 128];
    word.bytes().for_each(|byte| counts[usize::from(byte & 127)] += 1);
    let total = f64::from(counts.iter().sum::<u32>());
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}
