//! Names of variables that are almost the name of one that a program asks for.
//!
//! A shell has many variables of other programs, and most of them must stay unaccused: `DB_HOST` is no slip
//! of `DB_PORT`, and `POST` none of `PORT`. So names are compared word by word. What counts as a slip of a
//! word depends on its length:
//!
//! ```text
//! two letters swapped, a letter doubled     ENV  EVN     URL  URLL
//! a letter missing or too many              6 letters and more in the whole name
//! another letter                            6 and more in the word
//! two of these, and a letter too many or    10 and more in the word
//! missing
//! ```
//!
//! Two other letters make another word: `production`, `projection`.

/// Names with fewer letters are near to too many others.
const SHORTEST: usize = 4;
/// Names with fewer letters may differ in what people swap or repeat alone.
const LONG: usize = 6;
/// Words of so many letters may have two slips.
const VERY_LONG: usize = 10;
/// Slips that make one name of another.
pub(crate) const MOST: usize = 2;

/// How many slips make one name of the other; none if it is the same name, or another one altogether.
pub(crate) fn slips(name: &str, asked: &str) -> Option<usize> {
    let (name, asked) = (name.to_lowercase(), asked.to_lowercase());
    let (own, other) = (letters(&name), letters(&asked));
    let is_short = own.len().min(other.len()) < SHORTEST;
    // A slip in the first letter is rare, and names that differ in numbers are a series.
    if name == asked || is_short || own.first() != other.first() || !same_digits(&own, &other) {
        return None;
    }
    let whole = own.len().max(other.len());
    if own == other {
        return (whole >= LONG).then_some(1);
    }
    let [own_words, other_words] = [&name, &asked].map(|name| words(name));
    if own_words.len() != other_words.len() {
        let is_near = whole >= 2 * SHORTEST && is_slip(&own, &other, whole);
        return is_near.then_some(2);
    }
    let differing: Vec<_> =
        own_words.iter().zip(&other_words).filter(|(one, two)| one != two).collect();
    let slips = differing.iter().map(|(one, two)| slips_of_word(one, two, whole));
    let slips = slips.sum::<Option<usize>>()?;
    // `USERS` is a name of its own beside `USER`.
    let is_plural = whole < 2 * SHORTEST && (is_plural(&own, &other) || is_plural(&other, &own));
    (slips <= MOST && !is_plural).then_some(slips)
}

/// Whether one other letter in a word of three and more makes one name of the other: `API_URI`, `API_URL`. Of two names
/// of which either may be right, this says nothing: a caller must know that one of them is missing.
pub(crate) fn is_substitution(name: &str, asked: &str) -> bool {
    const SHORTEST_WORD: usize = 3;
    let (name, asked) = (name.to_lowercase(), asked.to_lowercase());
    if !same_digits(&letters(&name), &letters(&asked)) || letters(&name).len() < LONG {
        return false;
    }
    let (own, other) = (words(&name), words(&asked));
    let mut differing = own.iter().zip(&other).filter(|(one, two)| one != two);
    let (Some((one, two)), None) = (differing.next(), differing.next()) else { return false };
    let letters = one.iter().zip(two).filter(|(one, two)| one != two).count();
    let is_word = one.len() == two.len() && one.len() >= SHORTEST_WORD;
    own.len() == other.len() && is_word && letters == 1 && one.first() == two.first()
}

/// The one of some names that may be meant by another one, which is none of them.
#[must_use]
pub fn nearest_name<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.into_iter().filter_map(|known| Some((slips(name, known)?, known)));
    near.min().map(|(_, known)| known)
}

fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn words(name: &str) -> Vec<Vec<char>> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(|part| part.chars().collect()).collect()
}

fn same_digits(one: &[char], two: &[char]) -> bool {
    let digits = |name: &[char]| -> String { name.iter().filter(|c| c.is_ascii_digit()).collect() };
    digits(one) == digits(two)
}

fn is_plural(one: &[char], two: &[char]) -> bool {
    one.split_last().is_some_and(|(last, rest)| *last == 's' && rest == two)
}

/// How many slips make one word of the other: one or two.
fn slips_of_word(one: &[char], two: &[char], whole: usize) -> Option<usize> {
    let is_twice = || {
        let (shorter, longer) = if one.len() < two.len() { (one, two) } else { (two, one) };
        let is_long = shorter.len() >= VERY_LONG && shorter.len() < longer.len();
        is_long && shorter.first() == longer.first() && has_letters(longer, shorter) && {
            let [one, two] = [one, two].map(|word| word.iter().collect::<String>());
            strsim::osa_distance(&one, &two) == 2
        }
    };
    is_slip(one, two, whole).then_some(1).or_else(|| is_twice().then_some(2))
}

/// Whether a word has each letter of another one as often.
fn has_letters(longer: &[char], shorter: &[char]) -> bool {
    let count = |word: &[char], letter| word.iter().filter(|other| **other == letter).count();
    shorter.iter().all(|letter| count(shorter, *letter) <= count(longer, *letter))
}

/// Whether one slip makes one word of the other.
fn is_slip(one: &[char], two: &[char], whole: usize) -> bool {
    let start = one.iter().zip(two).take_while(|(one, two)| one == two).count();
    let (one, two) = (&one[start..], &two[start..]);
    match one.len().cmp(&two.len()) {
        std::cmp::Ordering::Equal => match (one, two) {
            ([a, b, rest @ ..], [c, d, other @ ..]) if a == d && b == c && a != b => rest == other,
            ([_, rest @ ..], [_, other @ ..]) => rest == other && start + one.len() >= LONG,
            _ => false,
        },
        std::cmp::Ordering::Less => is_missing(one, two, whole),
        std::cmp::Ordering::Greater => is_missing(two, one, whole),
    }
}

/// Whether the longer end of a word has one letter more: a repeated one, or any in a long name.
fn is_missing(shorter: &[char], longer: &[char], whole: usize) -> bool {
    // What both start with was cut, so that a repeated letter may be the one before.
    longer.len() == shorter.len() + 1
        && &longer[1..] == shorter
        && (whole >= LONG || longer.get(1) == longer.first() || shorter.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_names_that_are_asked_for() {
        for (name, asked) in [
            ("SPRING_PROFILE_ACTIVE", "SPRING_PROFILES_ACTIVE"),
            ("SPRING_PROFILES_ACTIV", "SPRING_PROFILES_ACTIVE"),
            ("ASPNETCORE_ENVIROMENT", "ASPNETCORE_ENVIRONMENT"),
            ("NODE_EVN", "NODE_ENV"),
            ("API_ULR", "API_URL"),
            ("API_URLL", "API_URL"),
            ("POTR", "PORT"),
            ("APP_LOG_LEVLE", "APP_LOG_LEVEL"),
            ("REGIONN", "REGION"),
            ("APP_DB_HOST", "APP_DBHOST"),
            ("LOGLEVEL", "LOG_LEVEL"),
            ("ASPNETCORE_ENVRIOMENT", "ASPNETCORE_ENVIRONMENT"),
            ("CREDENTAILS_FILE", "CREDENTIALS_FILE"),
        ] {
            assert!(slips(name, asked).is_some(), "{name} {asked}");
        }
    }

    #[test]
    fn another_letter_in_a_short_word_is_a_substitution() {
        for (name, asked) in [("API_BASE_URI", "API_BASE_URL"), ("SMTP_POST", "SMTP_PORT")] {
            assert!(is_substitution(name, asked), "{name} {asked}");
        }
        for (name, asked) in [
            ("DB_HOST", "DB_PORT"),
            ("URI", "URL"),
            ("KEY_FOR_A", "KEY_FOR_B"),
            ("APP_KEY1", "APP_KEY2"),
            ("API_TOKEN", "API_TOKENS"),
        ] {
            assert!(!is_substitution(name, asked), "{name} {asked}");
        }
    }

    #[test]
    fn names_of_other_variables_are_no_slips() {
        for (name, asked) in [
            ("PORT", "PORT"),
            ("POST", "PORT"),
            ("DB_HOST", "DB_PORT"),
            ("DATABASE_HOST", "DATABASE_PORT"),
            ("USERS", "USER"),
            ("TEMP", "TEAM"),
            ("SERVER1_URL", "SERVER2_URL"),
            ("HOSTTYPE", "HOSTNAME"),
            ("ENV", "EVN"),
            ("SPRING_PROFILES_DEFAULT", "SPRING_PROFILES_ACTIVE"),
            ("DATABASE_URI", "DATABASE_URL"),
            ("PROJECTION_URL", "PRODUCTION_URL"),
            ("MAX_CONNECTORS", "MAX_CONNECTIONS"),
        ] {
            assert_eq!(slips(name, asked), None, "{name} {asked}");
        }
    }
}
