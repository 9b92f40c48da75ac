//! What a program was told, from the stack that the kernel hands it.
//!
//! Before a program's first instruction its stack pointer points at the number of arguments, then at
//! the pointers to them; the strings themselves lie above. So a dump of the stack at `execve` has
//! them, also for a process that ends before anybody could ask `/proc/PID/cmdline`. Not always: the
//! kernel leaves a random gap of up to 8 KiB between both (`arch_align_stack`), and a dump ends at the
//! first page that nobody has touched; that is one in five.
//! Source: System V ABI, AMD64 supplement, 3.4.1 "Initial stack"; fs/binfmt_elf.c `create_elf_tables`.

use culprit_model::Text;

/// Bytes of a word on the stack: only programs of 64 bits lay it out so.
const WORD: usize = 8;

/// The arguments joined by spaces, of a stack whose `bytes` begin at the address `base`; none where
/// the dump does not hold all of them.
pub(crate) fn of_stack(base: u64, bytes: &[u8]) -> Option<Text> {
    let count = usize::try_from(word(bytes, 0)?).ok()?;
    if count == 0 || count >= bytes.len() / WORD {
        return None;
    }
    let arguments = (1..=count).map(|at| string(bytes, word(bytes, at)?.checked_sub(base)?));
    let arguments = arguments.collect::<Option<Vec<_>>>()?;
    Some(Text::from(arguments.join(" ")))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at * WORD..)?.first_chunk::<WORD>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// The string that begins at an offset and ends with a NUL.
fn string(bytes: &[u8], offset: u64) -> Option<String> {
    let from = bytes.get(usize::try_from(offset).ok()?..)?;
    let end = from.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&from[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7ffe_0000;

    /// The stack of a program with these arguments, laid out as the kernel does.
    fn stack(arguments: &[&str]) -> Vec<u8> {
        let pointers = (arguments.len() + 4) * WORD;
        let mut words = vec![arguments.len() as u64];
        let mut strings = Vec::new();
        for argument in arguments {
            words.push(BASE + (pointers + strings.len()) as u64);
            strings.extend_from_slice(argument.as_bytes());
            strings.push(0);
        }
        words.extend([0, 0, 0]); // no more arguments, no environment, no auxiliary vector
        words.iter().flat_map(|word| word.to_le_bytes()).chain(strings).collect()
    }

    #[test]
    fn arguments_are_read_in_order() {
        let told = of_stack(BASE, &stack(&["grep", "-c", "a b", ""])).expect("whole");
        assert_eq!(told.as_str(), "grep -c a b ");
    }

    #[test]
    fn a_stack_that_is_cut_or_no_stack_at_all_tells_nothing() {
        let whole = stack(&["git", "rev-parse", "HEAD"]);
        assert!((0..whole.len()).all(|cut| of_stack(BASE, &whole[..cut]).is_none()));
        assert_eq!(of_stack(BASE + 4096, &whole), None);
        assert_eq!(of_stack(BASE, &[0xff; 256]), None);
        assert_eq!(of_stack(BASE, &[0; 256]), None);
    }
}
