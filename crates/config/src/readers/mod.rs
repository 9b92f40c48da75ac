//! Readers: bytes of a source to assignments with their positions. One file a format.
//!
//! Each reader takes text and returns entries in the order of the text, or why it cannot be read.
//! Reasons never quote the text: it may hold secrets.

mod env;
mod git;
mod ini;
mod json;
mod properties;
mod pydotenv;
mod systemd;
mod toml;
mod unit;
mod xml;
mod yaml;

use culprit_model::{Label as _, labels};

pub(crate) use git::key as git_key;
pub(crate) use systemd::{KEEPS_COMMENT, KEEPS_REFERENCE, NO_NAME, is_variable_name, words};

use crate::position::Position;
use crate::provenance::Op;
use crate::value::Raw;

pub(crate) use xml::parse as parse_xml;

/// The largest file that is read. Configuration is text that people write; more is data.
pub const MAX_BYTES: u64 = 64 << 20;
/// The deepest nesting that is followed, so that recursion has an end.
pub const MAX_NESTING: usize = 512;
/// The most values of one source: aliases of YAML could make more of a few bytes.
pub const MAX_ENTRIES: usize = 1_000_000;

labels! {
    /// A format of configuration.
    Format ("format") {
        /// JSON, RFC 8259.
        Json = "json",
        /// JSON with comments and trailing commas, as .NET and editors read it.
        Jsonc = "jsonc",
        /// JSON5.
        Json5 = "json5",
        /// JSON as the configuration of .NET reads it: no key twice.
        JsonDotnet = "json-dotnet",
        /// YAML 1.2.
        Yaml = "yaml",
        /// YAML 1.1 as Spring Boot reads it.
        YamlSpring = "yaml-spring",
        /// YAML as Docker Compose reads it.
        YamlCompose = "yaml-compose",
        /// YAML as `kubectl` reads it.
        YamlKubernetes = "yaml-kubernetes",
        /// TOML 1.1.
        Toml = "toml",
        /// Sections of `key = value`.
        Ini = "ini",
        /// Java's properties.
        Properties = "properties",
        /// XML 1.0 without a document type.
        Xml = "xml",
        /// `NAME=value` as `docker run --env-file` reads it: no quotes, no comments after values.
        EnvDocker = "env-docker",
        /// `NAME=value` as Docker Compose reads it.
        EnvCompose = "env-compose",
        /// `NAME=value` as the package `dotenv` of npm reads it.
        EnvDotenv = "env-dotenv",
        /// `NAME=value` as the package `python-dotenv` reads it.
        EnvPython = "env-python",
        /// `NAME=value` as systemd reads it for `EnvironmentFile=`.
        EnvSystemd = "env-systemd",
        /// git's configuration.
        Git = "git",
        /// The variable in which git hands on `-c KEY=VALUE`.
        GitParameters = "git-parameters",
        /// Units and other files of systemd.
        Unit = "unit",
    }
}

impl Format {
    /// The format that a file's name points at.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let end = name.rsplit('.').next()?;
        let is_env = name == ".env" || name.starts_with(".env.") || end == "env";
        match end {
            "json" => Some(Self::Jsonc),
            "jsonc" => Some(Self::Jsonc),
            "json5" => Some(Self::Json5),
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "ini" | "cfg" | "conf" => Some(Self::Ini),
            "properties" => Some(Self::Properties),
            "xml" | "config" => Some(Self::Xml),
            _ if is_env => Some(Self::EnvDotenv),
            _ => None,
        }
    }

    /// Whether it is a list of variables.
    #[must_use]
    pub fn is_env(self) -> bool {
        use Format::{EnvCompose, EnvDocker, EnvDotenv, EnvPython, EnvSystemd};
        matches!(self, EnvDocker | EnvCompose | EnvDotenv | EnvPython | EnvSystemd)
    }
}

/// A step from a key to one below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A name.
    Name(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// One value of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From the root to the value; never empty.
    pub path: Vec<Segment>,
    /// The value.
    pub value: Raw,
    /// How it is set.
    pub op: Op,
    /// Whether `$NAME` in the value stands for another value, in formats that replace it.
    pub template: bool,
    /// Whether the format says that there is no value, which is not the same as an empty one: null, or a
    /// group or list without members, whose text is `{}` or `[]`.
    pub null: bool,
    /// What the program takes the value for, where it changes the text: `NO` is a truth value, and becomes `false`.
    pub retyped: Option<&'static str>,
    /// Where its key stands; of an element of a list, the element.
    pub at: Position,
    /// The last line of the value.
    pub end_line: u32,
    /// Which of several documents in one file it belongs to, from 0.
    pub document: u32,
}

impl Entry {
    /// What is to be said of a value that the program takes for another than its text; none of others.
    pub(crate) fn remark(&self) -> Option<String> {
        self.retyped.map(|what| format!("YAML takes the text for {what}; quotes keep the text"))
    }

    /// A value that is set by what has no lines: a variable, an argument, a file that holds one value.
    pub(crate) fn unplaced(path: Vec<Segment>, value: Raw) -> Self {
        Self {
            path,
            value,
            op: Op::Set,
            template: false,
            null: false,
            retyped: None,
            at: Position::START,
            end_line: 1,
            document: 0,
        }
    }
}

/// What an [`Oddity`] says of a value that ends before its line does.
pub(crate) const CUT: &str = "ends before the `#`: what follows is taken for a comment";
/// Of a value of which a part is a variable that is not set.
pub(crate) const NOT_SET_IN_PART: &str =
    "loses the part behind a `$`: it is taken for a variable, and none of this name is set";
/// What an [`Oddity`] says of a quote that the end of the value does not match.
pub(crate) const QUOTE_IN_VALUE: &str =
    "starts with a quote that is part of the value, because no quote ends it";
/// Of a value whose quotes do not end it.
pub(crate) const KEEPS_QUOTES: &str = "keeps its quotes: they are part of the value here";
/// Of a value that ends in a blank.
pub(crate) const KEEPS_BLANK: &str = "ends in a blank, which is part of the value here";

/// Of a value that starts with a blank.
pub(crate) const STARTS_WITH_BLANK: &str = "starts with a blank, which is part of the value here";

/// Of a file that starts with the bytes of a byte order mark.
pub(crate) const BYTE_ORDER_MARK: &str = "starts with a byte order mark";
/// Of a file in another encoding.
pub(crate) const UTF16: &str = "is UTF-16";
/// Of a file in an encoding that is not known.
pub(crate) const NOT_UTF8: &str = "is not UTF-8";

/// Of a reference in the form of a shell that the program keeps as text.
pub(crate) const KEPT: &str = "is referred to as in a shell, which dotenv does not replace";

/// Of a file of properties that is not in the encoding in which it is read.
pub(crate) const IN_UTF8: &str = "has letters in UTF-8, which are read as ISO 8859-1";

/// Of a line that its reader passes over.
pub(crate) const LEFT_OUT: &str = "has a line that is no `NAME=value`, and is left out";

/// Of a value with a backslash that the reader takes for the start of an escape.
pub(crate) const LOSES_BACKSLASH: &str =
    "loses a backslash: it starts an escape, and stands for itself only if it is doubled";

/// Of a value that ends in a blank which its quotes keep.
pub(crate) const QUOTED_BLANK: &str = "ends in a blank within its quotes";

/// Whether a value is one word with a blank behind it: a slip, where a blank behind a sentence or a sign may be meant.
fn ends_in_blank(value: &str) -> bool {
    let word = value.trim_end_matches([' ', '\t']);
    word.len() < value.len()
        && word.ends_with(char::is_alphanumeric)
        && !word.contains(char::is_whitespace)
}

/// Values of a format with quotes that end in a blank.
fn quoted_blanks(format: Format, contents: &Contents) -> Vec<Oddity> {
    // These formats have no quotes, or say by themselves where a blank counts.
    let own = [Format::Properties, Format::EnvDocker, Format::Ini, Format::Unit, Format::Git];
    if own.contains(&format) {
        return Vec::new();
    }
    let is_text = |entry: &&Entry| {
        let last = entry.path.last();
        // Blanks in the text of an element come from the layout of the file.
        format == Format::Xml && !matches!(last, Some(Segment::Name(name)) if name.starts_with('@'))
    };
    let odd = contents.entries.iter().filter(|entry| ends_in_blank(entry.value.expose()));
    let named = odd.filter(|entry| !is_text(entry)).map(|entry| {
        let name = entry.path.iter().rev().find_map(|segment| match segment {
            Segment::Name(name) => Some(name.trim_start_matches('@').to_owned()),
            Segment::Index(_) => None,
        });
        Oddity { at: entry.at, name: name.unwrap_or_default(), what: QUOTED_BLANK }
    });
    named.collect()
}

/// Whether a value is in quotes.
pub(crate) fn is_quoted(value: &str) -> bool {
    let within = |quote| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    within('"') || within('\'')
}

/// Something odd about a line that does not end the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// Where.
    pub at: Position,
    /// The name that it belongs to, or empty.
    pub name: String,
    /// What, in words.
    pub what: &'static str,
}

impl Oddity {
    /// The same, with a name that may be shown.
    pub(crate) fn with_shown_name(&self) -> Self {
        Self { name: crate::secret::name(&self.name), ..self.clone() }
    }
}

labels! {
    /// How a place of a compose file takes away what weaker files set there.
    Clear ("tag") {
        /// It is as if it were not there.
        Reset = "!reset",
        /// Its own value stands alone.
        Override = "!override",
    }
}

/// A place of a compose file that takes away what weaker files set there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// From the root to the place.
    pub path: Vec<Segment>,
    /// How.
    pub how: Clear,
    /// Where its key stands.
    pub at: Position,
    /// Which of several documents in one file it belongs to, from 0.
    pub document: u32,
}

/// A mapping or a list of a file of YAML that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyGroup {
    /// From the root to it.
    pub path: Vec<Segment>,
    /// Where its key stands.
    pub at: Position,
    /// Which of several documents in one file it belongs to, from 0.
    pub document: u32,
}

/// What a source holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its values, in the order of the text.
    pub entries: Vec<Entry>,
    /// What is odd about it, in the order of the text.
    pub oddities: Vec<Oddity>,
    /// Its lists and groups that hold nothing: `[]` and `{}` are their values. They count only where a
    /// list replaces a list.
    pub empties: Vec<Entry>,
    /// The places of a compose file that take away what weaker files set, in the order of the text.
    pub cleared: Vec<Cleared>,
    /// The groups of a file whose program refuses keys that it does not know: of Compose and Kubernetes.
    pub groups: Vec<KeyGroup>,
}

/// Why a source cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// It is malformed.
    #[error("line {}, column {}: {reason}", at.line, at.column)]
    Syntax {
        /// Where.
        at: Position,
        /// What is wrong, without words of the text.
        reason: String,
    },
    /// It exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
}

impl Unreadable {
    /// Where it is malformed.
    pub(crate) fn at(&self) -> Option<Position> {
        match self {
            Self::Syntax { at, .. } => Some(*at),
            Self::TooLarge(_) => None,
        }
    }

    /// Malformed here. What a parser quotes of the text is left out of its message.
    fn syntax(at: Position, message: &str) -> Self {
        Self::Syntax { at, reason: without_quotes(message) }
    }

    /// A key that stands twice, in a file that the program refuses then.
    fn repeated(at: Position, before: Position, program: &str) -> Self {
        let Position { line, column } = before;
        let reason =
            format!("repeats the key of line {line}, column {column}; {program} refuses the file");
        Self::Syntax { at, reason }
    }

    fn too_deep() -> Self {
        Self::TooLarge(format!("nested deeper than {MAX_NESTING}"))
    }

    fn too_many() -> Self {
        Self::TooLarge(format!("more than {MAX_ENTRIES} values"))
    }
}

/// Reads a source.
///
/// # Errors
/// When the bytes are malformed or exceed a limit.
pub fn read(format: Format, bytes: &[u8]) -> Result<Contents, Unreadable> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unreadable::TooLarge(format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    let (text, mut oddities) = decode(format, bytes)?;
    let mut contents = match format {
        Format::Json | Format::Jsonc | Format::Json5 => json::read(&text, format)?,
        Format::JsonDotnet => json::read_once(&text)?,
        Format::Yaml => yaml::read(&text, yaml::Rules::AsWritten)?,
        Format::YamlSpring => yaml::read(&text, yaml::Rules::Snake)?,
        Format::YamlCompose => yaml::read(&text, yaml::Rules::Go)?,
        Format::YamlKubernetes => yaml::read(&text, yaml::Rules::Kubernetes)?,
        Format::Toml => toml::read(&text)?,
        Format::Ini => ini::read(&text)?,
        Format::Properties => properties::read(&text)?,
        Format::Xml => xml::read(&text)?,
        Format::EnvDocker => env::docker(&text)?,
        Format::EnvCompose => env::compose(&text)?,
        Format::EnvDotenv => env::dotenv(&text),
        Format::EnvPython => pydotenv::read(&text),
        Format::EnvSystemd => systemd::read(&text),
        Format::Git => git::read(&text)?,
        Format::GitParameters => git::parameters(&text)?,
        Format::Unit => unit::read(&text)?,
    };
    if contents.entries.len() > MAX_ENTRIES {
        return Err(Unreadable::too_many());
    }
    oddities.append(&mut contents.oddities);
    oddities.extend(quoted_blanks(format, &contents));
    contents.oddities = oddities;
    Ok(contents)
}

/// The text of a file of XML, for dialects that read its elements themselves.
pub(crate) fn decode_xml(bytes: &[u8]) -> Result<String, Unreadable> {
    decode(Format::Xml, bytes).map(|(text, _)| text)
}

/// Bytes as text, without a byte order mark.
pub(crate) fn decode(format: Format, bytes: &[u8]) -> Result<(String, Vec<Oddity>), Unreadable> {
    let odd = |what| vec![Oddity { at: Position::START, name: String::new(), what }];
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        let (text, _) = decode(format, rest)?;
        let found = if format.is_env() { odd(BYTE_ORDER_MARK) } else { Vec::new() };
        return Ok((text, found));
    }
    let wide = |from: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes[2..].as_chunks::<2>();
        String::from_utf16_lossy(&pairs.iter().map(|pair| from(*pair)).collect::<Vec<_>>())
    };
    match bytes {
        [0xff, 0xfe, ..] => return Ok((wide(u16::from_le_bytes), odd(UTF16))),
        [0xfe, 0xff, ..] => return Ok((wide(u16::from_be_bytes), odd(UTF16))),
        _ => {}
    }
    // `java.util.Properties.load` reads ISO 8859-1, in which each byte is the character of its number.
    if format == Format::Properties {
        return Ok((bytes.iter().map(|byte| char::from(*byte)).collect(), Vec::new()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((text.to_owned(), Vec::new())),
        Err(_) if format.is_env() => {
            Ok((String::from_utf8_lossy(bytes).into_owned(), odd(NOT_UTF8)))
        }
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let at = crate::position::Lines::new(&before).at(before.len());
            Err(Unreadable::syntax(at, "not UTF-8"))
        }
    }
}

/// A message without what stands in quotes: words of the text, which may be secret.
fn without_quotes(message: &str) -> String {
    let mut shown = String::new();
    let mut quote = None;
    for c in message.chars() {
        match quote {
            None if matches!(c, '`' | '\'' | '"') => {
                quote = Some(c);
                shown.push('…');
            }
            None => shown.push(c),
            Some(open) if c == open => quote = None,
            Some(_) => {}
        }
    }
    let mut first = shown.chars();
    let start: String = first.next().into_iter().flat_map(char::to_lowercase).collect();
    start + first.as_str()
}

/// The words of all formats, for help and for messages.
#[must_use]
pub fn formats() -> String {
    Format::ALL.iter().map(|format| format.word()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_quote_the_text() {
        assert_eq!(without_quotes("Unknown entity 'hunter2' here"), "unknown entity … here");
        assert_eq!(without_quotes("open `quote"), "open …");
    }

    #[test]
    fn encodings_are_recognised() {
        let text =
            |format, bytes: &[u8]| decode(format, bytes).map(|(text, odd)| (text, odd.len()));
        assert_eq!(text(Format::EnvDocker, b"\xef\xbb\xbfA=1"), Ok(("A=1".to_owned(), 1)));
        assert_eq!(text(Format::Json, b"\xef\xbb\xbf{}"), Ok(("{}".to_owned(), 0)));
        assert_eq!(text(Format::Json, b"\xff\xfe{\0}\0"), Ok(("{}".to_owned(), 1)));
        assert_eq!(text(Format::Properties, b"a=\xe4"), Ok(("a=ä".to_owned(), 0)));
        let error = decode(Format::Json, b"{\n\xff}").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 1: not UTF-8");
    }
}
