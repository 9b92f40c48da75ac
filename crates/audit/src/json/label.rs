//! Keys as their source writes them, to be known again without being read.

/// Bytes of a label at most. Longer keys are read each time.
const LONGEST: usize = 32;
const WORD: usize = 8;

/// A key with its quotes, its colon and the white space up to its value: `"Url":`. Rows of one source
/// have the same keys, in one order and with the same white space, so most keys are known by one
/// comparison with the text that is expected next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Label {
    bytes: [u8; LONGEST],
    /// The bits that count.
    masks: [u64; LONGEST / WORD],
    length: usize,
}

/// Bytes as words; how they are ordered does not matter.
#[inline]
fn words(bytes: &[u8; LONGEST]) -> [u64; LONGEST / WORD] {
    let [a, b, c, d] = bytes.as_chunks::<WORD>().0 else { return [0; LONGEST / WORD] };
    [u64::from_le_bytes(*a), u64::from_le_bytes(*b), u64::from_le_bytes(*c), u64::from_le_bytes(*d)]
}

impl Label {
    /// The label with this text; none for one that is too long or not ASCII: how long a key is in
    /// UTF-16 must be seen then.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        if text.len() > LONGEST || !text.is_ascii() {
            return None;
        }
        let mut label = Self { length: text.len(), ..Self::default() };
        label.bytes[..text.len()].copy_from_slice(text);
        for (at, mask) in label.masks.iter_mut().enumerate() {
            let kept = text.len().saturating_sub(at * WORD).min(WORD);
            *mask = if kept == 0 { 0 } else { u64::MAX >> (64 - 8 * kept) };
        }
        Some(label)
    }

    /// How many bytes of the text are this label: all or none of its own.
    #[inline]
    pub(crate) fn begins(&self, text: &[u8]) -> usize {
        let Some(text) = text.first_chunk::<LONGEST>() else { return self.begins_short(text) };
        let ([a, b, c, d], [e, f, g, h]) = (words(&self.bytes), words(text));
        let [m, n, o, p] = self.masks;
        let differ = (a ^ e) & m | (b ^ f) & n | (c ^ g) & o | (d ^ h) & p;
        if differ == 0 { self.length } else { 0 }
    }

    fn begins_short(&self, text: &[u8]) -> usize {
        if text.starts_with(&self.bytes[..self.length]) { self.length } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_label_begins_what_begins_with_it(
            text in "[\"a:]{0,34}",
            rest in "[\"a:é]{0,40}",
        ) {
            let Some(label) = Label::of(text.as_bytes()) else {
                prop_assert!(text.len() > LONGEST);
                return Ok(());
            };
            let whole = format!("{text}{rest}");
            prop_assert_eq!(label.begins(whole.as_bytes()), text.len());
            let fits = rest.starts_with(&text);
            prop_assert_eq!(label.begins(rest.as_bytes()), if fits { text.len() } else { 0 });
        }
    }

    #[test]
    fn nothing_begins_with_no_label() {
        assert_eq!(Label::default().begins(&[0; 40]), 0);
        assert_eq!(Label::of("\"é\":".as_bytes()), None);
    }
}
