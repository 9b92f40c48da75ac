//! Whose a sample is: labels for threads and processes, as different writers have them.
//!
//! A label is a text or a number, and the number of a text is 0. Ids are numbers of the kernel, of
//! 64 bits (pthread_self), or texts; some writers have names only.

use std::borrow::Cow;

use crate::threads::number;

/// A process or a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Party<'a> {
    /// What tells it from others: its id, else its name.
    pub(super) word: Cow<'a, str>,
    /// Empty where it has none.
    name: Cow<'a, str>,
}

impl Party<'_> {
    /// Its name, or its id where it has no name and the id is no number of a kernel.
    pub(super) fn shown(&self) -> &str {
        if self.name.is_empty() && number(&self.word).is_none() { &self.word } else { &self.name }
    }
}

/// Whose a sample is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Who<'a> {
    pub(super) process: Party<'a>,
    pub(super) thread: Party<'a>,
}

/// The labels of a sample under reading.
#[derive(Debug, Default)]
pub(super) struct Whose<'a> {
    pid: Option<Cow<'a, str>>,
    tid: Option<Cow<'a, str>>,
    process: Option<Cow<'a, str>>,
    thread: Option<Cow<'a, str>>,
}

impl<'a> Whose<'a> {
    /// Takes a label; false when it says nothing of a thread, or something else than one before.
    pub(super) fn add(&mut self, key: &str, text: Cow<'a, str>, number: i64) -> bool {
        let (slot, is_id) = match key {
            "pid" | "process_id" | "process id" => (&mut self.pid, true),
            "tid" | "thread_id" | "thread id" => (&mut self.tid, true),
            "process" | "process_name" | "process name" => (&mut self.process, false),
            "thread" | "thread_name" | "thread name" => (&mut self.thread, false),
            _ => return false,
        };
        let value = match number {
            0 if is_id && text.is_empty() => Cow::Borrowed("0"),
            0 => text,
            number => Cow::Owned(number.to_string()),
        };
        let known = slot.get_or_insert_with(|| value.clone());
        *known == value
    }

    /// None without any label of a thread.
    pub(super) fn who(self) -> Option<Who<'a>> {
        let party = |id: Option<Cow<'a, str>>, name: Option<Cow<'a, str>>| {
            let word = id.or_else(|| name.clone().filter(|name| !name.is_empty()))?;
            Some(Party { word, name: name.unwrap_or_default() })
        };
        let thread = party(self.tid, self.thread)?;
        let none = || Party { word: Cow::Borrowed("0"), name: Cow::Borrowed("") };
        Some(Who { process: party(self.pid, self.process).unwrap_or_else(none), thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels as `key=text` or `key:number`; the words and names of process and thread.
    fn who(labels: &str) -> Option<(String, String, String, String)> {
        let mut whose = Whose::default();
        for label in labels.split_whitespace() {
            match label.split_once('=') {
                Some((key, text)) => whose.add(key, text.into(), 0),
                None => {
                    let (key, number) = label.split_once(':').unwrap();
                    whose.add(key, "".into(), number.parse().unwrap())
                }
            };
        }
        let Who { process, thread } = whose.who()?;
        let shown = |party: &Party<'_>| (party.word.to_string(), party.shown().to_owned());
        let ((pid, process), (tid, thread)) = (shown(&process), shown(&thread));
        Some((pid, process, tid, thread))
    }

    #[test]
    fn ids_are_numbers_texts_or_names() {
        for (labels, expected) in [
            ("tid:12 thread=io pid:7 process=srv", Some(("7", "srv", "12", "io"))),
            ("thread_id=4711 thread_name=Main", Some(("0", "", "4711", "Main"))),
            ("tid:140737488355072", Some(("0", "", "140737488355072", "140737488355072"))),
            ("thread=worker", Some(("0", "", "worker", "worker"))),
            ("tid=", Some(("0", "", "0", ""))),
            ("process=srv", None),
            ("handler=/", None),
        ] {
            let own = |text: &str| text.to_owned();
            let expected = expected.map(|(a, b, c, d)| (own(a), own(b), own(c), own(d)));
            assert_eq!(who(labels), expected, "{labels}");
        }
        let mut whose = Whose::default();
        assert!(whose.add("tid", "".into(), 7) && whose.add("tid", "".into(), 7));
        assert!(!whose.add("thread_id", "".into(), 8) && !whose.add("span", "x".into(), 0));
    }
}
