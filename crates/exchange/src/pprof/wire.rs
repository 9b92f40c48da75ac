//! The encoding of protocol buffers (protobuf.dev, "Encoding"), read in place.
//!
//! Messages stay slices of the file and are taken apart when they are used, so that memory stays a
//! small multiple of the file however many empty messages it holds.

/// Why a message cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It ends within a field.
    Short,
    /// What stands there is no field.
    Wrong,
}

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Of four or eight bytes: the format has none, but readers skip what they do not know.
    Fixed,
}

impl<'a> Value<'a> {
    /// A number; 0 for what is none.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Varint(number) => number,
            _ => 0,
        }
    }

    /// The numbers of a repeated field: one, or many packed into bytes.
    pub(super) fn numbers(self) -> impl Iterator<Item = u64> + 'a {
        let (one, mut packed) = match self {
            Self::Varint(number) => (Some(number), &[][..]),
            Self::Bytes(bytes) => (None, bytes),
            Self::Fixed => (None, &[][..]),
        };
        one.into_iter().chain(std::iter::from_fn(move || varint(&mut packed).ok()))
    }

    /// The message of a field; empty for what is none.
    pub(super) fn message(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The fields of a message with their numbers. Ends behind the first that cannot be read.
pub(super) fn fields(mut rest: &[u8]) -> impl Iterator<Item = Result<(u64, Value<'_>), Cut>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Value<'a>), Cut> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Varint(varint(rest)?),
        1 => take(rest, 8).map(|_| Value::Fixed)?,
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| Cut::Short)?;
            Value::Bytes(take(rest, length)?)
        }
        5 => take(rest, 4).map(|_| Value::Fixed)?,
        _ => return Err(Cut::Wrong),
    };
    if tag >> 3 == 0 { Err(Cut::Wrong) } else { Ok((tag >> 3, value)) }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Cut> {
    let (taken, left) = rest.split_at_checked(length).ok_or(Cut::Short)?;
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, Cut> {
    let mut number = 0_u64;
    for (at, byte) in rest.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Ok(number);
        }
    }
    Err(if rest.len() < 10 { Cut::Short } else { Cut::Wrong })
}

/// A message being written.
#[derive(Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// Adds a number; zeros are left out, as they are what a missing field means.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
        self
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    fn varint(&mut self, mut value: u64) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= 7;
            if value == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut inner = Message::default();
        inner.number(1, 300);
        let mut message = Message::default();
        message.number(2, u64::MAX).number(3, 0).message(4, &inner).bytes(5, &[1, 0x80, 2]);
        let read: Vec<_> = fields(&message.0).collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], Ok((2, Value::Varint(u64::MAX))));
        let Ok((4, inner)) = read[1] else { panic!("{read:?}") };
        assert_eq!(fields(inner.message()).next(), Some(Ok((1, Value::Varint(300)))));
        let Ok((5, packed)) = read[2] else { panic!("{read:?}") };
        assert_eq!(packed.numbers().collect::<Vec<_>>(), [1, 256]);
    }

    #[test]
    fn cut_and_wrong_messages_end() {
        assert_eq!(fields(&[0x0a, 5, 1]).last(), Some(Err(Cut::Short)));
        assert_eq!(fields(&[0x08]).last(), Some(Err(Cut::Short)));
        assert_eq!(fields(&[0x0b, 1, 1]).count(), 1);
        assert_eq!(fields(&[0xff; 12]).last(), Some(Err(Cut::Wrong)));
        assert_eq!(fields(&[0x02, 0]).last(), Some(Err(Cut::Wrong)));
    }
}
