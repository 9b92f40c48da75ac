//! Python source as logical lines of tokens: a line ends outside brackets and strings.

use crate::position::{Lines, Position};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword.
    Name(String),
    /// A text, with its escapes replaced; none for one that is made from values, or of bytes.
    Text(Option<String>),
    /// A number, as written without underscores.
    Number(String),
    /// An operator or a bracket.
    Symbol(&'static str),
}

/// A statement: a line with those that it goes on in.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    /// How far it is indented, in characters.
    pub(super) indent: usize,
    /// Its tokens.
    pub(super) tokens: Vec<Token>,
    /// Where each token starts.
    pub(super) at: Vec<Position>,
    /// The last line.
    pub(super) end_line: u32,
}

/// Operators, the longest first.
const SYMBOLS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", "->", ":=", "+=", "-=", "*=", "/=",
    "|=", "&=", "%=", "@=", "^=", "**", "//", "<<", ">>", "(", ")", "[", "]", "{", "}", ",", ":",
    ".", ";", "@", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">",
];

/// The statements of a text; the position of what cannot be read, and why.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>, (Position, &'static str)> {
    let lines = Lines::new(text);
    let mut reader = Reader { text, at: 0 };
    let mut found: Vec<Statement> = Vec::new();
    let mut depth = 0_usize;
    let mut open = false;
    let mut indent = 0;
    while let Some(c) = reader.peek() {
        let start = reader.at;
        let here = || lines.at(start);
        match c {
            '\n' => {
                reader.at += 1;
                if depth == 0 {
                    (open, indent) = (false, 0);
                }
            }
            ' ' | '\t' | '\u{c}' | '\r' => {
                reader.at += 1;
                indent += usize::from(!open && depth == 0);
            }
            '#' => reader.line(),
            '\\' => {
                reader.at += 1;
                reader.blank_line();
            }
            ';' if depth == 0 => {
                reader.at += 1;
                open = false;
            }
            _ => {
                let token = reader.token().map_err(|why| (here(), why))?;
                match &token {
                    Token::Symbol("(" | "[" | "{") => depth += 1,
                    Token::Symbol(")" | "]" | "}") => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if !open {
                    let statement =
                        Statement { indent, tokens: Vec::new(), at: Vec::new(), end_line: 0 };
                    found.push(statement);
                    open = true;
                }
                if let Some(last) = found.last_mut() {
                    last.tokens.push(token);
                    last.at.push(here());
                    last.end_line = lines.line(reader.at.saturating_sub(1));
                }
            }
        }
    }
    if depth > 0 {
        return Err((lines.at(text.len()), "an open bracket"));
    }
    Ok(found)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn blank_line(&mut self) {
        let end = self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
        if self.rest()[..end].trim().is_empty() {
            self.at += end;
        }
    }

    fn token(&mut self) -> Result<Token, &'static str> {
        let rest = self.rest();
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (prefix, after) = rest.split_at(word);
        let is_prefix = word <= 2 && prefix.chars().all(|c| "rRbBuUfFtT".contains(c));
        if is_prefix && after.starts_with(['"', '\'']) {
            let prefix = prefix.to_lowercase();
            self.at += word;
            return self.string(&prefix).map(Token::Text);
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_ascii_digit()
            || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            return Ok(Token::Number(self.number()));
        }
        if word > 0 {
            let name = prefix.to_owned();
            self.at += word;
            return Ok(Token::Name(name));
        }
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let symbol = symbol.ok_or("an unknown character")?;
        self.at += symbol.len();
        Ok(Token::Symbol(symbol))
    }

    fn number(&mut self) -> String {
        let rest = self.rest();
        let mut last = ' ';
        let end = rest.find(|c: char| {
            let signed = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
            last = c;
            !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || signed)
        });
        let number = rest[..end.unwrap_or(rest.len())].replace('_', "");
        self.at += end.unwrap_or(rest.len());
        number
    }

    /// A text from its quote on; none if it is made of values or bytes.
    fn string(&mut self, prefix: &str) -> Result<Option<String>, &'static str> {
        let quote = self.peek().unwrap_or('"');
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let is_triple = self.rest().starts_with(&triple);
        let end = if is_triple { triple } else { quote.to_string() };
        self.at += end.len();
        let is_raw = prefix.contains('r');
        let mut text = String::new();
        while !self.rest().starts_with(&end) {
            let c = self.peek().filter(|c| is_triple || *c != '\n').ok_or("an open string")?;
            self.at += c.len_utf8();
            if c != '\\' {
                text.push(c);
                continue;
            }
            if is_raw {
                text.push('\\');
                let next = self.peek().ok_or("an open string")?;
                text.push(next);
                self.at += next.len_utf8();
            } else {
                self.escape(&mut text)?;
            }
        }
        self.at += end.len();
        Ok((!prefix.contains(['f', 'b', 't'])).then_some(text))
    }

    fn escape(&mut self, text: &mut String) -> Result<(), &'static str> {
        let c = self.peek().ok_or("an open string")?;
        self.at += c.len_utf8();
        let length = match c {
            '\n' => return Ok(()),
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => c,
            'x' => return self.code(2, 16, text),
            'u' => return self.code(4, 16, text),
            'U' => return self.code(8, 16, text),
            '0'..='7' => {
                self.at -= 1;
                let digits = self.rest().chars().take(3).take_while(|c| c.is_digit(8)).count();
                return self.code(digits, 8, text);
            }
            other => {
                text.push('\\');
                other
            }
        };
        text.push(length);
        Ok(())
    }

    fn code(&mut self, digits: usize, radix: u32, text: &mut String) -> Result<(), &'static str> {
        let number =
            self.rest().get(..digits).and_then(|text| u32::from_str_radix(text, radix).ok());
        text.push(number.and_then(char::from_u32).ok_or("a malformed escape")?);
        self.at += digits;
        Ok(())
    }
}
