//! What the words in the names of a program's own functions tell.

use super::Chore;

/// What the words in the names of a program's own functions tell, where no library is known to be at
/// work: a thing and what is done to it, or one word that says both.
struct Words {
    chore: Chore,
    things: &'static str,
    deeds: &'static str,
    both: &'static str,
}

/// Only kinds of work that programmers name alike. Source: names of such functions in jq, curl,
/// SQLite, Redis, git and the standard libraries of the languages above.
const WORDS: &[Words] = &[
    Words {
        chore: Chore::Serialize,
        things: "json|xml|yaml|toml|csv|html|url|uri|hex|utf8|utf16|msgpack|cbor|bson|protobuf",
        deeds: "to|from|parse|parser|parses|parsing|encode|encoder|encodes|encoding|decode|decoder|\
                decodes|decoding|escape|escaped|escapes|unescape|quote|unquote|dump|dumps|loads|\
                stringify|tokenize|tokenizer|lexer|serialize|deserialize|write|writer|read|reader|\
                emit|append|format|print",
        both: "base64|b64|serialize|serializer|serialise|deserialize|deserializer|deserialise|\
               unserialize|marshal|marshaller|unmarshal|stringify|urlencode|urldecode|percentencode",
    },
    Words {
        chore: Chore::Dates,
        things: "date|dates|datetime|iso8601|rfc3339|rfc2822|timestamp|timestamps",
        deeds: "parse|parser|parses|parsing|format|formatter|formats|formatting|from|to",
        both: "strptime|strftime",
    },
];

/// The chore that a name tells by its words.
pub(super) fn worded(name: &str) -> Option<Chore> {
    let words = words(name);
    let has = |list: &str| list.split('|').any(|word| words.iter().any(|own| own == word));
    let told = WORDS.iter().find(|w| has(w.both) || has(w.things) && has(w.deeds));
    told.map(|w| w.chore)
}

/// The words of a function's name, in small letters, without its arguments, types and place:
/// `app::JsonWriter<char>::put_all(int)` has app, json, writer, put, all.
fn words(name: &str) -> Vec<String> {
    let name = name.strip_prefix("py::").or_else(|| name.strip_prefix("JS:")).unwrap_or(name);
    let end = name.find(['(', '<', ' ']).filter(|at| *at > 0).unwrap_or(name.len());
    let name = name[..end].split(":/").next().unwrap_or_default();
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let hump = c.is_uppercase() && before.is_lowercase();
        if hump || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use culprit_engine::names::plain;

    use super::*;

    #[test]
    fn words_in_names_tell_what_programs_write_themselves() {
        for (function, chore) in [
            ("json_escape(std::string&, std::string const&)", Some(Chore::Serialize)),
            ("Order::to_json() const", Some(Chore::Serialize)),
            ("base64_encode", Some(Chore::Serialize)),
            ("main.writeXml", Some(Chore::Serialize)),
            ("JS:*parseCsv /app/table.js:3:10", Some(Chore::Serialize)),
            ("py::parse_date:/app/json/dump.py", Some(Chore::Dates)),
            ("handle_json_request", None),
            ("update", None),
            ("validate", None),
            ("read_all", None),
        ] {
            assert_eq!(worded(plain(function)), chore, "{function}");
        }
    }
}
