//! pprof's protocol buffers (google/pprof `proto/profile.proto`), which Go, pprof-rs,
//! pprof-nodejs, Pyroscope and Parca write, packed with gzip.
//!
//! Samples are stacks of locations with one value for each of the file's sample types; all types
//! that have a metric here become costs. Times are not kept by the format: a file says when it
//! began and how long it took. What gperftools writes itself is a form of its own.

mod labels;
mod legacy;
mod read;
mod types;
mod wire;
mod write;

use crate::builder::Builder;
use crate::format::{Refusal, Spec};
use crate::input::Input;
use wire::{Value, fields};

pub(crate) const SPEC: Spec = Spec {
    extensions: &["pb.gz", "pprof"],
    about: "pprof's protocol buffers: Go, gperftools, pprof-rs, Pyroscope, Parca",
    detect: |head| detect(head) || legacy::detect(head),
    read: Some(read_any),
    write: Some(write::write),
};

fn read_any(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    if legacy::detect(input.head()) {
        legacy::read(input, builder)
    } else {
        read::read(input, builder)
    }
}

/// The format has no signature: a message with sample types, all of whose fields are of the types
/// that the format gives them, as far as the first bytes go.
fn detect(head: &[u8]) -> bool {
    let (mut types, mut others) = (0, 0);
    for field in fields(head) {
        match field {
            Ok((1, Value::Bytes(kind))) if is_type(kind) => types += 1,
            Ok((11, Value::Bytes(kind))) if is_type(kind) => {}
            Ok((2..=5 | 16, Value::Bytes(message))) if fields(message).all(|f| f.is_ok()) => {
                others += 1;
            }
            Ok((6 | 13, Value::Bytes(_)) | (7..=10 | 12..=15, Value::Varint(_))) => others += 1,
            // What the first bytes cut short is fine when something came before it.
            Err(wire::Cut::Short) => break,
            _ => return false,
        }
    }
    types > 0 && others > 0
}

/// Whether a message is a type and its unit: two positions of texts.
fn is_type(message: &[u8]) -> bool {
    !message.is_empty()
        && fields(message).all(|field| matches!(field, Ok((1 | 2, Value::Varint(_)))))
}
