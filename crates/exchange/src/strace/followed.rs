//! Which threads strace follows. Without `-o` it numbers lines only while there are several:
//!
//! ```text
//! 0.1 vfork(strace: Process 20 attached
//!  <unfinished ...>
//! [pid 20] 0.2 exit_group(0) = ?
//! [pid 10] 0.3 <... vfork resumed>) = 20 <0.2>       so the first one is 10
//! [pid 20] 0.4 +++ exited with 0 +++
//! 0.5 getpid() = 10 <0.000003>
//! ```

/// The thread that strace followed first, whatever its number.
pub(super) const FIRST: u32 = 0;

/// The threads that are being followed.
#[derive(Debug)]
pub(super) struct Followed {
    /// Those that have not ended.
    pub(super) alive: Vec<u32>,
    /// The number of the first, once a line told it.
    pub(super) first: Option<u32>,
    announced: Vec<u32>,
    /// Whether a line was without a number, so that there is a first thread without one.
    unnumbered: bool,
}

impl Default for Followed {
    fn default() -> Self {
        Self { alive: vec![FIRST], first: None, announced: Vec::new(), unnumbered: false }
    }
}

impl Followed {
    /// strace says that it follows one more; before any line (`-p`), that is the first.
    pub(super) fn attach(&mut self, tid: u32) {
        if self.unnumbered || self.first.is_some() {
            self.alive.push(tid);
            self.announced.push(tid);
        } else {
            self.first = Some(tid);
        }
    }

    /// The thread that a line is of.
    pub(super) fn thread(&mut self, number: Option<u32>) -> u32 {
        let Some(number) = number else {
            self.unnumbered = true;
            return match *self.alive {
                [only] => only,
                _ => FIRST,
            };
        };
        // One that was not announced while another was is the one that was there before.
        if self.unnumbered && self.first.is_none() && !self.announced.contains(&number) {
            self.first = Some(number);
        }
        if self.first == Some(number) { FIRST } else { number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_number_are_of_the_only_thread() {
        let mut followed = Followed::default();
        assert_eq!(followed.thread(None), FIRST);
        followed.attach(20);
        assert_eq!(followed.thread(None), FIRST);
        assert_eq!(followed.thread(Some(20)), 20);
        assert_eq!(followed.thread(Some(10)), FIRST);
        assert_eq!(followed.first, Some(10));
        followed.alive.retain(|alive| *alive != FIRST);
        assert_eq!(followed.thread(None), 20);
    }

    #[test]
    fn numbered_lines_and_attached_processes_keep_their_numbers() {
        let mut followed = Followed::default();
        assert_eq!((followed.thread(Some(7)), followed.first), (7, None));
        let mut followed = Followed::default();
        followed.attach(30);
        assert_eq!((followed.thread(None), followed.first), (FIRST, Some(30)));
    }
}
