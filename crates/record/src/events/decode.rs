//! Records of our own events: whose each sample is, and what its event's role has of it.
//!
//! A chunk of a ring is a slice of `u64`, and so is a call chain in it: nothing is copied here. What a record's
//! fields mean is known by `culprit_kernel`.

use culprit_kernel::record::Mode;
use culprit_kernel::{Layout, List, Malformed, Order, Record, Task, order};

use crate::events::attr::{Fields, Role, Stream};

/// The number of an event and what its samples look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventShape {
    /// The kernel's number for the event.
    pub(crate) id: u64,
    /// What it is for.
    pub(crate) role: Role,
    /// What its samples hold.
    pub(crate) fields: Fields,
    layout: Layout,
}

/// The events of one recording, found by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventShapes {
    sorted: Vec<EventShape>,
    /// The only sampled event of each stream whose records carry no number.
    stacks: Option<EventShape>,
    switches: Option<EventShape>,
}

impl EventShape {
    /// The shape of event `id`.
    pub(crate) fn new(id: u64, role: Role, fields: Fields) -> Self {
        Self { id, role, fields, layout: fields.layout(role.stream()) }
    }
}

impl EventShapes {
    /// A directory of `shapes`.
    pub(crate) fn new(mut shapes: Vec<EventShape>) -> Self {
        shapes.sort_by_key(|shape| shape.id);
        let of_role = |role| shapes.iter().find(|shape| shape.role == role).copied();
        let (stacks, switches) = (of_role(Role::SwitchStack), of_role(Role::Switch));
        Self { sorted: shapes, stacks, switches }
    }

    /// More events.
    pub(crate) fn add(&mut self, shapes: Vec<EventShape>) {
        self.sorted.extend(shapes);
        self.sorted.sort_by_key(|shape| shape.id);
    }

    /// The shape of event `id`.
    pub(crate) fn find(&self, id: u64) -> Option<&EventShape> {
        let at = self.sorted.binary_search_by_key(&id, |shape| shape.id).ok()?;
        self.sorted.get(at)
    }
}

/// A sample; what its event does not have is empty or zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    /// What its event is for.
    pub(crate) role: Role,
    /// Who ran.
    pub(crate) task: Task,
    /// True when user code ran, false in the kernel.
    pub(crate) in_user: bool,
    /// The address that was touched.
    pub(crate) address: u64,
    /// How many events it stands for.
    pub(crate) period: u64,
    /// Addresses, innermost first, with `PERF_CONTEXT_` markers between kernel and user.
    pub(crate) chain: &'a [u64],
    /// The tracepoint's own record.
    pub(crate) raw: &'a [u8],
    /// User registers in ascending order of their bits; empty for a kernel thread.
    pub(crate) registers: &'a [u64],
    /// Bytes from the user stack pointer upwards.
    pub(crate) stack: &'a [u8],
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// A sample of one of our events.
    Sample(Sample<'a>),
    /// Anything else, and whose it is.
    Record(Record<'a>, Task),
}

/// Decodes a record of a stream.
///
/// # Errors
/// When its content contradicts its size, or its event is not ours.
pub(crate) fn decode<'a>(
    record: &'a [u64],
    stream: Stream,
    shapes: &EventShapes,
) -> Result<Body<'a>, Malformed> {
    let (header, body) = order::split(record).ok_or(Malformed)?;
    let layout = stream.layout();
    if !header.is_sample() {
        // We never ask for build ids (`attr.rs`).
        let header = header.without_build_id();
        let (record, end) = Record::read(header, body, Order::NATIVE, &layout)?;
        return Ok(Body::Record(record, end.task));
    }
    let shape = match stream {
        Stream::Stacks => shapes.stacks.as_ref(),
        Stream::Accounting => shapes.switches.as_ref(),
        _ => layout.id(header, body, Order::NATIVE).and_then(|id| shapes.find(id)),
    };
    let shape = shape.ok_or(Malformed)?;
    let read = culprit_kernel::Sample::read(&shape.layout, body, Order::NATIVE)?;
    Ok(Body::Sample(Sample {
        role: shape.role,
        task: read.task,
        in_user: header.mode() == Mode::User,
        address: read.address.unwrap_or(0),
        period: read.period.unwrap_or(1),
        chain: in_place(read.chain)?,
        raw: read.raw.unwrap_or_default(),
        registers: in_place(read.registers)?,
        stack: read.stack.unwrap_or_default(),
    }))
}

/// The numbers of a list. Those of a ring are aligned, unless a part before them has an impossible length.
fn in_place(list: Option<List<'_>>) -> Result<&[u64], Malformed> {
    list.map_or(Some([].as_slice()), List::in_place).ok_or(Malformed)
}
