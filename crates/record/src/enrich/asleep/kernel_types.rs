//! The kernel's own description of its types (BTF): where a structure has a field, and the number of a function.
//!
//! ```text
//! header | types: name, kind and count, size .. | members of a structure .. | next type ..  | names
//! ```
//!
//! Types are numbered from one, in their order. Source: Documentation/bpf/btf.rst.

/// Where the kernel shows it.
pub(super) const FILE: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u64 = 0xeb9f;
const STRUCT: u32 = 4;
const FUNCTION: u32 = 12;

/// A type, and the bytes that follow it.
struct Type<'a> {
    id: u32,
    kind: u32,
    name: &'a [u8],
    rest: &'a [u8],
}

/// The description of all types.
#[derive(Debug)]
pub(super) struct KernelTypes<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

impl<'a> KernelTypes<'a> {
    /// None for bytes that are something else.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if number(bytes, 0)? & 0xffff != MAGIC {
            return None;
        }
        let part = |at: usize| {
            let (offset, length) = (half(bytes, at)?, half(bytes, at + 4)?);
            let start = half(bytes, 4)?.checked_add(offset)?;
            bytes.get(start..start.checked_add(length)?)
        };
        Some(Self { types: part(8)?, names: part(16)? })
    }

    /// The number of a function.
    pub(super) fn function(&self, name: &str) -> Option<u32> {
        let mut types = self.types();
        types.find(|found| found.kind == FUNCTION && found.name == name.as_bytes()).map(|t| t.id)
    }

    /// How many bytes behind the start of a structure a field is.
    pub(super) fn offset(&self, structure: &str, field: &str) -> Option<usize> {
        let name = structure.as_bytes();
        let found = self.types().find(|found| found.kind == STRUCT && found.name == name)?;
        let mut members = found.rest.chunks_exact(12);
        let member = members.find(|member| {
            half(member, 0).and_then(|at| self.name(at)) == Some(field.as_bytes())
        })?;
        // Where the structure has bit fields, the upper byte says how many bits.
        let bits = half(member, 8)? & 0xff_ffff;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    fn types(&self) -> impl Iterator<Item = Type<'a>> {
        let (mut left, names) = (self.types, Self { ..*self });
        (1..).map_while(move |id| {
            let (name, info) = (half(left, 0)?, u32::try_from(half(left, 4)?).ok()?);
            let (kind, count) = (info >> 24 & 0x1f, usize::try_from(info & 0xffff).ok()?);
            let (rest, next) = left.get(12..)?.split_at_checked(bytes_behind(kind, count)?)?;
            left = next;
            Some(Type { id, kind, name: names.name(name)?, rest })
        })
    }

    fn name(&self, at: usize) -> Option<&'a [u8]> {
        let from = self.names.get(at..)?;
        from.split(|byte| *byte == 0).next()
    }
}

/// Bytes that follow a type, by its kind; none for kinds that are not known.
fn bytes_behind(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => 4,
        // Pointer, forward declaration, other name, qualifiers, function, float, tag of a type.
        2 | 7..=12 | 16 | 18 => 0,
        // Array.
        3 => 12,
        // Structure, union, section, enumeration of 64 bits.
        4 | 5 | 15 | 19 => 12 * count,
        // Enumeration, arguments.
        6 | 13 => 8 * count,
        _ => return None,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    half(bytes, at).map(|half| half as u64)
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let half = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*half)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pointer, a structure of two fields, a function.
    fn described() -> Vec<u8> {
        let names = b"\0task\0pid\0flags\0announce\0";
        let types: [u32; 15] = [
            0,
            2 << 24,
            1, // *task
            1,
            STRUCT << 24 | 2,
            16,
            10,
            3,
            0,
            6,
            3,
            64, // flags at 0, pid at 64 bits
            16,
            FUNCTION << 24,
            9,
        ];
        let length = 4 * u32::try_from(types.len()).unwrap();
        let header = [0x0001_eb9f, 24, 0, length, length, u32::try_from(names.len()).unwrap()];
        let words = header.iter().chain(&types);
        words.flat_map(|word| word.to_le_bytes()).chain(*names).collect()
    }

    #[test]
    fn fields_and_functions_are_found_by_name() {
        let bytes = described();
        let types = KernelTypes::parse(&bytes).unwrap();
        assert_eq!(
            (types.offset("task", "flags"), types.offset("task", "pid")),
            (Some(0), Some(8))
        );
        assert_eq!((types.offset("task", "tgid"), types.offset("announce", "pid")), (None, None));
        assert_eq!((types.function("announce"), types.function("task")), (Some(3), None));
    }

    #[test]
    fn bytes_that_are_cut_or_something_else_say_nothing() {
        let bytes = described();
        for length in 0..bytes.len() {
            let types = KernelTypes::parse(&bytes[..length]);
            assert!(types.is_none_or(|types| types.function("task").is_none()), "{length}");
        }
        assert!(KernelTypes::parse(&[0; 64]).is_none());
    }
}
