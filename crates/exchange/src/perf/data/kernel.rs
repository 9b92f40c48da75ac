//! Whether the kernel that runs here is the one that was recorded, and where its code was then.
//!
//! A build id says it. Without one, the header's kernel and host and the address of the kernel's code
//! have to be those of this machine: a kernel of another boot lies elsewhere, where addresses are random.

use std::fs;
use std::ops::Range;

use culprit_symbols::{Avma, KernelSymbol, KernelSymbols};

const OTHER: &str = "the recorded kernel is not the kernel of this machine";
const NO_BUILD_IDS: &str = "the file has no build ids, because of `perf record -z` or `-B`";

/// What perf calls the kernel's code, before the name of the symbol that it begins with.
const PATH: &str = "[kernel.kallsyms]";

/// The kernel's code as it was mapped while recording.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapped {
    /// Empty where the recorder could not see it.
    addresses: Range<u64>,
    /// The symbol that it begins with.
    first: String,
    build_id: Vec<u8>,
}

/// What a file says about the kernel that was recorded.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) release: String,
    pub(super) host: String,
    pub(super) mapped: Mapped,
}

/// What runs here.
#[derive(Debug, Default)]
struct Running {
    /// The kernel's notes, with its build id among them.
    notes: Vec<u8>,
    release: String,
    host: String,
}

/// Names of the recorded kernel's code.
pub(super) struct Kernel {
    symbols: KernelSymbols,
    mapped: Range<u64>,
    /// How much further up the code lies now.
    shift: u64,
}

impl Mapped {
    /// The kernel's code, if a mapping of the kernel's is that.
    pub(super) fn new(
        (start, length): (u64, u64),
        path: &str,
        build_id: Option<&[u8]>,
    ) -> Option<Self> {
        let first = path.strip_prefix(PATH)?.to_owned();
        let build_id = build_id.unwrap_or_default().to_vec();
        let end = if start == 0 { 0 } else { start.saturating_add(length) };
        Some(Self { addresses: start..end, first, build_id })
    }
}

impl Recorded {
    /// The names of the running kernel, if it is the recorded one; `build_id` is what the file's header
    /// states of it.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn names(&self, build_id: Option<&[u8]>) -> Result<Kernel, String> {
        let build_id = build_id.unwrap_or(&self.mapped.build_id);
        let running = Running::read();
        self.is(&running, build_id)?;
        let symbols = KernelSymbols::load().map_err(|error| error.to_string())?;
        let kallsyms = fs::read("/proc/kallsyms").unwrap_or_default();
        let here = address_of(&String::from_utf8_lossy(&kallsyms), &self.mapped.first);
        let shift = self.shift(build_id, here)?;
        Ok(Kernel { symbols, mapped: self.mapped.addresses.clone(), shift })
    }

    /// Whether it is the running kernel, but for the addresses.
    fn is(&self, running: &Running, build_id: &[u8]) -> Result<(), String> {
        if !build_id.is_empty() {
            let mut notes = running.notes.windows(build_id.len());
            return if notes.any(|part| part == build_id) { Ok(()) } else { Err(OTHER.to_owned()) };
        }
        let (there, here) = ((&self.host, &self.release), (&running.host, &running.release));
        if self.host.is_empty() || self.release.is_empty() {
            return Err(format!(
                "{NO_BUILD_IDS}. Its header has no host name or no kernel version"
            ));
        }
        if there == here {
            return Ok(());
        }
        Err(format!(
            "{NO_BUILD_IDS}. It was recorded on {} with kernel {}; this machine is {} with kernel \
             {}",
            there.0, there.1, here.0, here.1
        ))
    }

    /// How much further up the kernel's code lies than while recording.
    fn shift(&self, build_id: &[u8], here: Option<u64>) -> Result<u64, String> {
        let there = self.mapped.addresses.start;
        match here {
            Some(here) if there > 0 && !build_id.is_empty() => Ok(here.wrapping_sub(there)),
            _ if !build_id.is_empty() => Ok(0),
            Some(here) if here == there => Ok(0),
            _ if there == 0 => {
                Err(format!("{NO_BUILD_IDS}. It does not contain the kernel's address"))
            }
            _ => Err(format!(
                "{NO_BUILD_IDS}. Its kernel started at the address {there:#x}, unlike the kernel \
                 here: the machine was rebooted, or it is another kernel"
            )),
        }
    }
}

impl Running {
    fn read() -> Self {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            notes: fs::read("/sys/kernel/notes").unwrap_or_default(),
            release: line("/proc/sys/kernel/osrelease"),
            host: line("/proc/sys/kernel/hostname"),
        }
    }
}

impl Kernel {
    /// The function at an address of the recording.
    pub(super) fn lookup(&self, address: u64) -> Option<KernelSymbol<'_>> {
        // Where the code has moved, modules lie anywhere.
        let known = self.shift == 0 || self.mapped.contains(&address);
        known.then(|| self.symbols.lookup(Avma(address.wrapping_add(self.shift))))?
    }
}

/// The address of a symbol in the text of `/proc/kallsyms`; none where it is hidden.
fn address_of(kallsyms: &str, name: &str) -> Option<u64> {
    let name = if name.is_empty() { "_text" } else { name };
    let line = kallsyms.lines().find(|line| line.split_whitespace().nth(2) == Some(name))?;
    let address = u64::from_str_radix(line.split_whitespace().next()?, 16).ok()?;
    (address > 0).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u64 = 0xffff_ffff_8100_0000;

    fn recorded(host: &str, release: &str, start: u64) -> Recorded {
        let mapped = Mapped::new((start, 0x100_0000), "[kernel.kallsyms]_text", None);
        let mapped = mapped.expect("the kernel's code");
        Recorded { release: release.to_owned(), host: host.to_owned(), mapped }
    }

    fn running() -> Running {
        Running {
            notes: b"GNU\0\x07\x08\x09\x0a".to_vec(),
            release: "6.1".into(),
            host: "db1".into(),
        }
    }

    fn refused(recorded: &Recorded, here: Option<u64>) -> String {
        let found = recorded.is(&running(), &[]).and_then(|()| recorded.shift(&[], here));
        let why = found.expect_err("another kernel");
        assert!(why.starts_with(NO_BUILD_IDS), "{why}");
        why
    }

    #[test]
    fn without_build_ids_host_kernel_and_address_are_this_machines() {
        let same = recorded("db1", "6.1", TEXT);
        assert_eq!(same.is(&running(), &[]), Ok(()));
        assert_eq!(same.shift(&[], Some(TEXT)), Ok(0));
        let host = refused(&recorded("db2", "6.1", TEXT), Some(TEXT));
        assert!(
            host.ends_with("recorded on db2 with kernel 6.1; this machine is db1 with kernel 6.1"),
            "{host}"
        );
        assert!(refused(&recorded("db1", "6.2", TEXT), Some(TEXT)).contains("kernel 6.2"));
        assert!(refused(&recorded("", "6.1", TEXT), Some(TEXT)).contains("has no host name"));
        let moved = refused(&recorded("db1", "6.1", TEXT), Some(TEXT + 0x20_0000));
        assert!(moved.contains("started at the address 0xffffffff81000000"), "{moved}");
        assert!(refused(&same, None).contains("started at the address"));
        assert!(
            refused(&recorded("db1", "6.1", 0), Some(TEXT))
                .contains("does not contain the kernel's address")
        );
    }

    #[test]
    fn a_build_id_says_it_alone() {
        let there = recorded("elsewhere", "5.0", TEXT);
        assert_eq!(there.is(&running(), &[7, 8, 9, 10]), Ok(()));
        assert_eq!(there.is(&running(), &[7, 9]), Err(OTHER.to_owned()));
        // The same kernel after another boot: its code lies elsewhere.
        assert_eq!(there.shift(&[7], Some(TEXT + 0x20_0000)), Ok(0x20_0000));
        assert_eq!(there.shift(&[7], None), Ok(0));
        assert_eq!(recorded("", "", 0).shift(&[7], Some(TEXT)), Ok(0));
    }

    #[test]
    fn code_that_moved_is_found_and_modules_are_not_guessed() {
        let kallsyms =
            "ffffffff81200000 T _text\nffffffff81200100 T schedule\nffffffffc0000100 t f [m]\n";
        assert_eq!(address_of(kallsyms, ""), Some(TEXT + 0x20_0000));
        assert_eq!(address_of("0000000000000000 T _text\n", "_text"), None);
        let symbols = || KernelSymbols::parse(kallsyms, "m 4096 0 - Live 0xffffffffc0000000\n");
        let kernel = |shift| Kernel { symbols: symbols(), mapped: TEXT..TEXT + 0x100_0000, shift };
        let name =
            |kernel: &Kernel, address| kernel.lookup(address).map(|found| found.name.to_owned());
        assert_eq!(name(&kernel(0x20_0000), TEXT + 0x108).as_deref(), Some("schedule"));
        assert_eq!(name(&kernel(0x20_0000), 0xffff_ffff_c000_0108), None);
        assert_eq!(name(&kernel(0), 0xffff_ffff_c000_0108).as_deref(), Some("f"));
    }

    #[test]
    fn only_the_kernels_code_is_taken_for_it() {
        assert!(Mapped::new((1, 1), "[kernel.kallsyms]_stext", None).is_some());
        assert!(Mapped::new((1, 1), "/lib/modules/x.ko", None).is_none());
        assert!(Mapped::new((1, 1), "[guest.kernel.kallsyms]_text", None).is_none());
    }
}
