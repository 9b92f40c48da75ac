//! Types and methods as precompiled images write them: the instances of generic ones have no row in the
//! metadata, so their name stands in a signature.
//!
//! Names read as the runtime writes them for code that it compiles itself:
//! ``System.Collections.Generic.Dictionary`2[System.__Canon,System.Int32]``. Source: ECMA-335 II.23.2.12,
//! and "Method Signatures" in .NET's `docs/design/coreclr/botr/readytorun-format.md`.

use super::bytes::{compressed, u8_at};
use super::metadata::{Metadata, member};

/// Types that one signature may consist of: a bound for damaged ones.
const MOST_TYPES: usize = 256;

/// How deep types may stand in each other.
const DEEPEST: usize = 32;

/// Bytes up to which a type's name is written.
const LONGEST_NAME: usize = 1024;

/// What a type of another module is called, whose metadata are elsewhere.
const ELSEWHERE: &str = "?";

/// Flags of a method's signature.
const INSTANTIATED: u32 = 0x04;
const SLOT: u32 = 0x08;
const MEMBER_REF: u32 = 0x10;
const CONSTRAINED: u32 = 0x20;
const OWNER_TYPE: u32 = 0x40;
const OTHER_MODULE: u32 = 0x80;

/// The types that have a number of their own.
fn primitive(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x01 => "System.Void",
        0x02 => "System.Boolean",
        0x03 => "System.Char",
        0x04 => "System.SByte",
        0x05 => "System.Byte",
        0x06 => "System.Int16",
        0x07 => "System.UInt16",
        0x08 => "System.Int32",
        0x09 => "System.UInt32",
        0x0a => "System.Int64",
        0x0b => "System.UInt64",
        0x0c => "System.Single",
        0x0d => "System.Double",
        0x0e => "System.String",
        0x16 => "System.TypedReference",
        0x18 => "System.IntPtr",
        0x19 => "System.UIntPtr",
        0x1c => "System.Object",
        // All reference types share their code.
        0x3e => "System.__Canon",
        _ => return None,
    })
}

/// Reads one signature.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    metadata: &'a Metadata<'a>,
    types: usize,
    depth: usize,
    /// Whether rows are those of another module.
    elsewhere: bool,
    /// The same for the arguments of generic types: they are written from where the signature begins.
    context: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, metadata: &'a Metadata<'a>) -> Self {
        Self { bytes, at, metadata, types: 0, depth: 0, elsewhere: false, context: false }
    }

    /// Where the reader is.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The name of a method and of its type, read to its end. `None` where it cannot be read to the
    /// end; an empty name where it can, but has a name that only another module knows.
    pub(super) fn method(&mut self) -> Option<String> {
        let flags = self.number()?;
        if flags & SLOT != 0 {
            return None;
        }
        if flags & OTHER_MODULE != 0 {
            self.context = self.number()? != 0;
            self.elsewhere = self.context;
        }
        let owner = if flags & OWNER_TYPE != 0 { Some(self.type_name()?) } else { None };
        let row = self.number()?;
        let name = self.method_name(row, flags, owner);
        if flags & INSTANTIATED != 0 {
            for _ in 0..self.number()? {
                self.type_name()?;
            }
        }
        if flags & CONSTRAINED != 0 {
            self.type_name()?;
        }
        Some(name.unwrap_or_default())
    }

    fn method_name(&self, row: u32, flags: u32, owner: Option<String>) -> Option<String> {
        if self.elsewhere {
            return None;
        }
        let (own, name) = if flags & MEMBER_REF != 0 {
            self.metadata.member_ref(row)?
        } else if owner.is_some() {
            (None, self.metadata.method_name(row)?)
        } else {
            return self.metadata.method(row);
        };
        Some(member(&owner.or(own)?, &name))
    }

    /// The name of the type that follows.
    pub(super) fn type_name(&mut self) -> Option<String> {
        (self.types, self.depth) = (self.types + 1, self.depth + 1);
        if self.types > MOST_TYPES || self.depth > DEEPEST {
            return None;
        }
        let kind = self.byte()? & 0x7f;
        let mut name = match primitive(kind) {
            Some(name) => name.to_owned(),
            None => self.composed(kind)?,
        };
        self.depth -= 1;
        while name.len() > LONGEST_NAME {
            name.pop();
        }
        Some(name)
    }

    /// A type that consists of others or is a row of the metadata.
    fn composed(&mut self, kind: u8) -> Option<String> {
        Some(match kind {
            0x0f => format!("{}*", self.type_name()?),
            0x10 => format!("{}&", self.type_name()?),
            0x11 | 0x12 => self.row()?,
            0x13 => format!("!{}", self.number()?),
            0x14 => self.array()?,
            0x15 => self.instance()?,
            0x1b => self.function_pointer()?,
            0x1d => format!("{}[]", self.type_name()?),
            0x1e => format!("!!{}", self.number()?),
            // A modified type: the modifier is a row, then comes the type.
            0x1f | 0x20 => {
                self.row()?;
                self.type_name()?
            }
            // What only native code sees, and a pinned variable.
            0x3d | 0x45 => self.type_name()?,
            0x3f => self.of_module()?,
            _ => return None,
        })
    }

    /// A type of this module or one that it names.
    fn row(&mut self) -> Option<String> {
        let coded = self.number()?;
        if self.elsewhere {
            return Some(ELSEWHERE.to_owned());
        }
        let name = match coded & 3 {
            0 => self.metadata.type_def(coded >> 2),
            1 => self.metadata.type_ref(coded >> 2),
            _ => None,
        };
        Some(name.unwrap_or_else(|| ELSEWHERE.to_owned()))
    }

    fn of_module(&mut self) -> Option<String> {
        let module = self.number()?;
        let outer = std::mem::replace(&mut self.elsewhere, module != 0);
        let name = self.type_name();
        self.elsewhere = outer;
        name
    }

    fn instance(&mut self) -> Option<String> {
        let generic = self.type_name()?;
        let outer = std::mem::replace(&mut self.elsewhere, self.context);
        let mut arguments = Vec::new();
        for _ in 0..self.number()? {
            arguments.push(self.type_name()?);
        }
        self.elsewhere = outer;
        Some(format!("{generic}[{}]", arguments.join(",")))
    }

    fn array(&mut self) -> Option<String> {
        let element = self.type_name()?;
        let rank = self.number()?;
        if rank > 0 {
            for _ in 0..2 {
                for _ in 0..self.number()? {
                    self.number()?;
                }
            }
        }
        let commas = usize::try_from(rank.saturating_sub(1)).ok().filter(|rank| *rank < DEEPEST)?;
        Some(format!("{element}[{}]", ",".repeat(commas)))
    }

    fn function_pointer(&mut self) -> Option<String> {
        const GENERIC: u8 = 0x10;
        if self.byte()? & GENERIC != 0 {
            self.number()?;
        }
        let parameters = self.number()?;
        self.type_name()?;
        for _ in 0..parameters {
            self.type_name()?;
        }
        Some("fnptr".to_owned())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = u8_at(self.bytes, self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<u32> {
        let (number, next) = compressed(self.bytes, self.at)?;
        self.at = next;
        Some(number)
    }
}
