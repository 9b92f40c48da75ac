//! The events of a block: each header repeats what it does not say from the one before.

use super::bytes::{Cursor, Wrong};

/// An event as the trace holds it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'a> {
    /// The number of its type.
    pub(super) kind: u32,
    /// Counts the events of the thread that wrote it.
    pub(super) sequence: u32,
    /// The thread that wrote it, and the one that it is about; since version 6 their positions.
    pub(super) capture: u64,
    pub(super) thread: u64,
    /// The number of its stack.
    pub(super) stack: u32,
    /// Ticks.
    pub(super) time: u64,
    /// The activity that it belongs to, until version 5; zeros for none.
    pub(super) activity: Guid,
    /// Since then the number of its list of labels, of which that is one.
    pub(super) labels: u32,
    pub(super) payload: &'a [u8],
}

/// Sixteen bytes that tell activities apart.
pub(super) type Guid = [u8; 16];

/// What is repeated.
#[derive(Debug, Default)]
struct Before {
    kind: u32,
    sequence: u32,
    capture: u64,
    thread: u64,
    stack: u32,
    time: u64,
    activity: Guid,
    labels: u32,
    size: u32,
}

/// The events of a block, up to the first that cannot be read.
#[derive(Debug)]
pub(super) struct Events<'a> {
    cursor: Cursor<'a>,
    version: u32,
    compressed: bool,
    before: Before,
    /// Whether the block could be read to its end.
    pub(super) whole: bool,
}

impl<'a> Events<'a> {
    /// From the body of a block of events, or until version 5 of metadata.
    pub(super) fn new(body: &'a [u8], version: u32) -> Result<Self, Wrong> {
        let mut cursor = Cursor::new(body);
        let header = usize::from(cursor.u16()?);
        let compressed = cursor.u16()? & 1 == 1;
        cursor.at = header.max(4);
        Ok(Self { cursor, version, compressed, before: Before::default(), whole: true })
    }

    fn compressed(&mut self) -> Result<Event<'a>, Wrong> {
        let (cursor, before) = (&mut self.cursor, &mut self.before);
        let flags = cursor.u8()?;
        let has = |bit: u8| flags & bit != 0;
        if has(1) {
            before.kind = cursor.varuint32()?;
        }
        if has(2) {
            before.sequence = before.sequence.wrapping_add(cursor.varuint32()?);
            before.capture = cursor.varuint()?;
            // The processor.
            cursor.varuint()?;
        }
        if before.kind != 0 || self.version >= 6 {
            before.sequence = before.sequence.wrapping_add(1);
        }
        if has(4) {
            before.thread = cursor.varuint()?;
        }
        if has(8) {
            before.stack = cursor.varuint32()?;
        }
        before.time = before.time.wrapping_add(cursor.varuint()?);
        self.labels(flags)?;
        if flags & 128 != 0 {
            self.before.size = self.cursor.varuint32()?;
        }
        let size = self.before.size;
        self.event(size)
    }

    /// What the event belongs to: until version 5 an activity and one that it is related to, since
    /// then a list of labels.
    fn labels(&mut self, flags: u8) -> Result<(), Wrong> {
        let (cursor, before) = (&mut self.cursor, &mut self.before);
        if self.version >= 6 {
            if flags & 16 != 0 {
                before.labels = cursor.varuint32()?;
            }
            return Ok(());
        }
        if flags & 16 != 0 {
            before.activity = cursor.array()?;
        }
        if flags & 32 != 0 {
            cursor.array::<16>()?;
        }
        Ok(())
    }

    fn plain(&mut self) -> Result<Event<'a>, Wrong> {
        let cursor = &mut self.cursor;
        let size = usize::try_from(cursor.u32()?).map_err(|_| Wrong)?;
        let end = cursor.at.checked_add(size).ok_or(Wrong)?;
        let kind = cursor.u32()? & 0x7fff_ffff;
        let (sequence, thread, capture) = (cursor.u32()?, cursor.u64()?, cursor.u64()?);
        cursor.u32()?;
        let (stack, time) = (cursor.u32()?, cursor.u64()?);
        let (mut activity, mut labels) = (Guid::default(), 0);
        if self.version < 6 {
            activity = cursor.array()?;
            cursor.array::<16>()?;
        } else {
            labels = cursor.u32()?;
        }
        let size = cursor.u32()?;
        self.before =
            Before { kind, sequence, capture, thread, stack, time, activity, labels, size };
        let event = self.event(size)?;
        if end < self.cursor.at {
            return Err(Wrong);
        }
        self.cursor.at = end;
        if self.version < 6 {
            self.cursor.align();
        }
        Ok(event)
    }

    fn event(&mut self, size: u32) -> Result<Event<'a>, Wrong> {
        let payload = self.cursor.take(usize::try_from(size).map_err(|_| Wrong)?)?;
        let Before { kind, sequence, capture, thread, stack, time, activity, labels, .. } =
            self.before;
        Ok(Event { kind, sequence, capture, thread, stack, time, activity, labels, payload })
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        if self.cursor.is_done() || !self.whole {
            return None;
        }
        let event = if self.compressed { self.compressed() } else { self.plain() };
        self.whole = event.is_ok();
        event.ok()
    }
}
