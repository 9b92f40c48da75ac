//! Which methods an instruction of a compiled method belongs to: itself and what was inlined.
//!
//! ```text
//! places (PcDesc)  | -1 | 48 -> 12 | 96 -> 31 | .. |     behind each call: where its scope is
//! scopes           .. sender, method, bytecode ..        sender: the scope that this one is inlined in
//! ```
//!
//! The compiler writes a place for each call and each point where a thread may be stopped. Where a thread is
//! found elsewhere, the next place is taken; `-XX:+DebugNonSafepoints` makes the compiler write more.
//! Source: `pcDesc.hpp`, `scopeDesc.cpp`, `nmethod.hpp` of HotSpot, JDK 11 to 25.

use std::ops::Range;

use super::super::{InterpreterError, ProcessMemory, Struct};
use super::code::CodeBlob;
use super::layout::DebugLayout;
use super::methods::{read, word};
use super::stream::CompressedNumbers;

/// Bytes of a `PcDesc`: four numbers, of which the second is the scope. All releases have it so.
const PLACE: usize = 16;
/// The largest method has some 40,000.
const MOST_PLACES: u64 = 1 << 17;
/// The compiler inlines up to 15 levels, recursion included (`MaxInlineLevel`); other compilers more.
const MOST_LEVELS: usize = 128;
/// Three numbers of five bytes.
const SCOPE: u64 = 15;
/// Methods and classes that one compiled method refers to.
const MOST_METADATA: u64 = 1 << 20;

/// A method at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) method: u64,
    /// None where the method was only entered.
    pub(super) bytecode: Option<u32>,
}

/// Where a compiled method has what.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pieces {
    metadata: Range<u64>,
    scopes: Range<u64>,
    places: Range<u64>,
}

/// The scopes of an instruction, what was inlined first; empty where the compiler wrote none.
pub(super) fn scopes(
    memory: &dyn ProcessMemory,
    layout: DebugLayout,
    blob: &CodeBlob,
    (address, is_return): (u64, bool),
    excess: u32,
) -> Result<Vec<Scope>, InterpreterError> {
    let pieces = pieces(layout, blob)?;
    let Some(mut at) = place(memory, &pieces.places, blob.code.start, (address, is_return))? else {
        return Ok(Vec::new());
    };
    let mut scopes = Vec::new();
    // Zero is no scope, as the first byte of all is never used.
    while at != 0 && scopes.len() < MOST_LEVELS {
        let what = "an inlined method";
        let start = pieces.scopes.start.saturating_add(u64::from(at));
        let room = pieces.scopes.end.saturating_sub(start).min(SCOPE);
        let mut bytes = vec![0; usize::try_from(room).unwrap_or_default()];
        read(memory, what, start, &mut bytes)?;
        let mut numbers = CompressedNumbers::new(&bytes, excess);
        let scope = numbers.number().zip(numbers.number()).zip(numbers.number());
        let Some(((sender, method), bytecode)) = scope else {
            return Err(InterpreterError::malformed(what, start, "it is cut off"));
        };
        let method = u64::from(method)
            .checked_sub(1)
            .map(|index| pieces.metadata.start.saturating_add(index.saturating_mul(8)));
        let Some(method) = method.filter(|place| pieces.metadata.contains(place)) else {
            return Err(InterpreterError::malformed(what, start, "it has no method"));
        };
        // An outer scope was written before those that are inlined in it.
        if sender >= at {
            return Err(InterpreterError::malformed(what, start, "its caller comes after it"));
        }
        scopes.push(Scope {
            method: word(memory, what, method)?,
            // One more than the bytecode's number: -1 is a method's entry.
            bytecode: bytecode.checked_sub(1),
        });
        at = sender;
    }
    Ok(scopes)
}

fn pieces(layout: DebugLayout, blob: &CodeBlob) -> Result<Pieces, InterpreterError> {
    let fields = Struct::new(&blob.header);
    let start = blob.start.0;
    let pieces = match layout {
        DebugLayout::Inside { metadata, scopes, places, places_end } => {
            let at = |offset| start.saturating_add(u64::from(fields.half(offset)));
            // A compiled method of which only the entry is left has its scopes elsewhere (zero).
            let scopes = fields.word(scopes);
            Pieces {
                metadata: at(metadata)..scopes,
                scopes: scopes..at(places),
                places: at(places)..at(places_end),
            }
        }
        DebugLayout::Outside {
            mutable,
            mutable_size,
            relocation_size,
            immutable,
            immutable_size,
            scopes,
            places,
        } => {
            let mutable_start = fields.word(mutable);
            let size = |offset| u64::from(fields.half(offset));
            let at = |offset| fields.word(immutable).saturating_add(size(offset));
            Pieces {
                metadata: mutable_start.saturating_add(size(relocation_size))
                    ..mutable_start.saturating_add(size(mutable_size)),
                scopes: at(scopes)..at(immutable_size),
                places: at(places)..at(scopes),
            }
        }
    };
    let length = |range: &Range<u64>| range.end.checked_sub(range.start);
    let fits = length(&pieces.metadata).is_some_and(|bytes| bytes / 8 <= MOST_METADATA)
        && length(&pieces.scopes).is_some()
        && length(&pieces.places).is_some_and(|bytes| {
            bytes / PLACE as u64 <= MOST_PLACES && bytes.is_multiple_of(PLACE as u64)
        });
    if fits {
        Ok(pieces)
    } else {
        Err(InterpreterError::malformed("a compiled method", start, "its parts are out of order"))
    }
}

/// The scope at an instruction: where it is among the scopes.
fn place(
    memory: &dyn ProcessMemory,
    places: &Range<u64>,
    code: u64,
    (address, is_return): (u64, bool),
) -> Result<Option<u32>, InterpreterError> {
    let length = usize::try_from(places.end - places.start).unwrap_or_default();
    let mut bytes = vec![0; length];
    read(memory, "the places of a compiled method", places.start, &mut bytes)?;
    let wanted = i64::try_from(address.saturating_sub(code)).unwrap_or(i64::MAX);
    // A place is behind its instruction: that of a call is the return address itself.
    let wanted = if is_return { wanted } else { wanted.saturating_add(1) };
    let all = bytes.chunks_exact(PLACE).map(Struct::new);
    let behind = all.map(|place| (i64::from(place.int(0)), place.half(4)));
    Ok(behind.filter(|(at, _)| *at >= wanted).min_by_key(|(at, _)| *at).map(|(_, scope)| scope))
}
