//! A frame as `perf script` prints it (`sample__fprintf_sym` in tools/perf/util/evsel_fprintf.c):
//! `7f2a3c10 parse(char const*)+0x1a (/opt/app/server)`, its address 16 wide, name and module only
//! where they were asked for.

/// The width of an address.
const ADDRESS: usize = 16;

/// A frame as printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Printed<'a> {
    pub(super) address: u64,
    /// Empty where it was not asked for.
    pub(super) symbol: &'a str,
    pub(super) module: &'a str,
    pub(super) inlined: bool,
    /// Whether fields follow that are not read: registers, branches.
    pub(super) more: bool,
}

/// A line of a call chain as perf prints it: a tab, the address in its width.
pub(super) fn chained(line: &str, modules: bool) -> Option<Printed<'_>> {
    let rest = line.strip_prefix('\t')?;
    let digits = rest.trim_start_matches(' ');
    let length = digits.bytes().take_while(is_hex).count();
    let wide = rest.len() - digits.len() + length >= ADDRESS;
    let ends = matches!(digits.as_bytes().get(length), None | Some(b' '));
    if length == 0 || !wide || !ends {
        return None;
    }
    printed(&digits[..length], &digits[length..], modules)
}

/// The same where spaces were changed on the way.
pub(super) fn indented(line: &str, modules: bool) -> Option<Printed<'_>> {
    let rest = line.strip_prefix([' ', '\t'])?.trim_start();
    let (address, text) = rest.split_once(' ').unwrap_or((rest, ""));
    printed(address, text, modules)
}

/// What stands behind the last field of a sample's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inline<'a> {
    /// Where the sample was, if it has no call chain.
    pub(super) frame: Option<Printed<'a>>,
    /// Whether there is an address of data.
    pub(super) data: bool,
    /// Whether something else than addresses stands in front.
    pub(super) other: bool,
}

impl<'a> Inline<'a> {
    /// An instruction has a space in front of its width, an address of data has none. Of several
    /// addresses the last is the instruction's.
    pub(super) fn read(rest: &'a str) -> Self {
        /// Digits that no word of a tracepoint's text has, where spaces were changed on the way.
        const LONG: usize = 8;
        let mut inline = Self { frame: None, data: false, other: false };
        let mut others = 0_u32;
        let mut before = 0;
        let mut first = true;
        for (at, word) in words(rest) {
            let end = at + word.len();
            let width = end - before;
            let address = !word.is_empty() && word.bytes().all(|byte| is_hex(&byte));
            if address && first && width == ADDRESS {
                inline.data = true;
            } else if address
                && (width > ADDRESS || (first && (word.len() >= LONG || has_module(rest))))
            {
                // Of two, the first was a number of something else.
                others += u32::from(inline.frame.is_some());
                inline.frame = printed(word, &rest[end..], true);
                inline.other = others > 0;
            } else {
                others += 1;
            }
            (before, first) = (end, false);
        }
        inline
    }
}

/// Whether a number of this width may be something else than an address.
pub(super) const fn is_no_address(width: usize) -> bool {
    width < ADDRESS
}

/// Words with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(' ')
        .scan(0, |at, word| {
            let begin = *at;
            *at += word.len() + 1;
            Some((begin, word))
        })
        .filter(|(_, word)| !word.is_empty())
}

const fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn printed<'a>(address: &str, text: &'a str, modules: bool) -> Option<Printed<'a>> {
    let hex = !address.is_empty() && address.bytes().all(|byte| is_hex(&byte));
    let address = u64::from_str_radix(address, 16).ok().filter(|_| hex)?;
    let (symbol, module, more) = split(text.trim(), modules);
    let inlined = module == "inlined";
    let module = if inlined { "" } else { without_offset(module) };
    Some(Printed { address, symbol: without_offset(symbol), module, inlined, more })
}

/// The name, the module and whether more follows. A module is what the last bracket holds, with
/// what brackets are in its path: `main (/opt/my app (x86)/server (deleted))`. One that is no path
/// is one only where frames have modules: names of functions hold brackets, too.
fn split(text: &str, modules: bool) -> (&str, &str, bool) {
    if !text.ends_with(')') {
        // Other fields follow.
        return match opening(text, false).and_then(|at| Some((at, closing(&text[at..])?))) {
            Some((at, length)) => {
                (text[..at].trim_end(), &text[at + 1..at + length], at + length + 1 < text.len())
            }
            None => (text, "", false),
        };
    }
    let within = |at: usize| (text[..at].trim_end(), &text[at + 1..text.len() - 1], false);
    let apart = |at: &usize| *at == 0 || text[..*at].ends_with(' ');
    let matching = matching(text).filter(apart);
    let is_path = |at: &usize| text[at + 1..].starts_with(['/', '[']);
    let at = matching.filter(is_path).or_else(|| opening(text, true));
    match at.or_else(|| matching.filter(|at| modules || &text[*at..] == "(inlined)")) {
        Some(at) => within(at),
        None => (text, "", false),
    }
}

/// Where a bracket with a path or with brackets of its own opens, the first or the last such.
fn opening(text: &str, last: bool) -> Option<usize> {
    let start = text.starts_with("(/") || text.starts_with("([");
    let find = |sign| if last { text.rfind(sign) } else { text.find(sign) };
    let all = [" (/", " (["].into_iter().filter_map(find).map(|at| at + 1);
    let all = all.chain(start.then_some(0));
    if last { all.max() } else { all.min() }
}

/// The length up to the bracket that closes the one at the beginning.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => return false,
        }
        depth == 0
    })
}

/// Where the bracket opens that closes at the end.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => return false,
        }
        depth == 0
    })
}

fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if u64::from_str_radix(offset, 16).is_ok() => name,
        _ => symbol,
    }
}

/// Whether a frame names its module by a path or in brackets, as all frames of a file then do.
pub(super) fn has_module(line: &str) -> bool {
    line.trim_end().ends_with(')') && opening(line, true).is_some()
}

/// Whose code a module is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    User,
    /// The kernel's own image.
    Image,
    /// A module of the kernel's, or code that it generated.
    Kernel,
    /// A virtual machine's.
    GuestKernel,
    Guest,
}

/// Brackets alone are no kernel: `[vdso]`, `[JIT app cache]`, `[anon:...]` are a process's memory.
pub(super) fn whose(module: &str, address: u64) -> Whose {
    /// Memory of a process that a word in brackets names.
    const USER: &[&str] = &["vdso", "vvar", "vsyscall", "heap", "stack", "anon", "uprobes"];
    /// Kernels of 64 bits have the upper half of the addresses.
    const UPPER: u64 = 1 << 63;
    let name = module.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let file = module.rsplit('/').next().unwrap_or(module);
    let word = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    match name {
        Some(name) if name.starts_with("guest.kernel") => Whose::GuestKernel,
        Some(name) if name == "guest" || name.starts_with("guest.") => Whose::Guest,
        Some(name) if name == "kernel" || name.starts_with("kernel.") => Whose::Image,
        Some("unknown") if address >= UPPER => Whose::Kernel,
        Some("unknown") => Whose::User,
        Some(name) if word(name) && !USER.contains(&name) => Whose::Kernel,
        Some(_) => Whose::User,
        None if file.starts_with("vmlinux") || file.starts_with("vmlinuz") => Whose::Image,
        None if is_kernel_object(file) || module.starts_with("bpf_") => Whose::Kernel,
        None if module.is_empty() && address >= UPPER => Whose::Kernel,
        None => Whose::User,
    }
}

fn is_kernel_object(file: &str) -> bool {
    let plain = [".gz", ".xz", ".zst"].iter().find_map(|end| file.strip_suffix(end));
    plain.unwrap_or(file).ends_with(".ko")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> (&str, &str) {
        let printed = chained(line, true).expect(line);
        (printed.symbol, printed.module)
    }

    #[test]
    fn a_module_is_what_the_last_bracket_holds() {
        for (text, symbol, module) in [
            (
                "f(char const*, a (*)(int))+0x1a (/opt/my app/server)",
                "f(char const*, a (*)(int))",
                "/opt/my app/server",
            ),
            ("[unknown] ([unknown])", "[unknown]", "[unknown]"),
            ("[unknown] (/ (deleted))", "[unknown]", "/ (deleted)"),
            (
                "App.Run(Int32)+0x1f (/memfd:doublemapper (deleted))",
                "App.Run(Int32)",
                "/memfd:doublemapper (deleted)",
            ),
            ("main+0x10 (/opt/my app (x86)/server)", "main", "/opt/my app (x86)/server"),
            ("main (/opt/a (/b)/c)", "main", "/opt/a (/b)/c"),
            ("main (/opt/a)b)", "main", "/opt/a)b"),
            ("main (/opt/(x)", "main", "/opt/(x"),
            ("f ([anon:x y])", "f", "[anon:x y]"),
            ("bpf_prog_1 (bpf_prog_1)", "bpf_prog_1", "bpf_prog_1"),
            ("main (/bin/a+0x1165)", "main", "/bin/a"),
            ("main (/bin/a) ABI:2 AX:0x1", "main", "/bin/a"),
            ("(/bin/a)", "", "/bin/a"),
            ("", "", ""),
        ] {
            let line = format!("\t            1165 {text}");
            assert_eq!(names(&line), (symbol, module), "{text}");
        }
        let plain = chained("\t            1165 object:call (intptr)", false).unwrap();
        assert_eq!((plain.symbol, plain.module), ("object:call (intptr)", ""));
        let inlined = chained("\t            1165 parse (inlined)", false).unwrap();
        assert_eq!((inlined.symbol, inlined.inlined), ("parse", true));
    }

    #[test]
    fn what_is_no_frame() {
        for line in
            ["  main.c:12", "\tbeef", "\t00000000000011f8\tinsn: 48", "dd 1", "\t  0x1165 x"]
        {
            assert_eq!(chained(line, true), None, "{line}");
        }
        assert!(indented("\tbeef work", true).is_some() && indented("  main.c:12", true).is_none());
    }

    #[test]
    fn data_and_code_are_told_apart_by_a_space() {
        let code = Inline::read("     559faee41174 parse (/opt/app/spin)");
        assert_eq!(code.frame.map(|frame| (frame.symbol, code.data)), Some(("parse", false)));
        let both =
            Inline::read("    7ffc9a1b2c3d [stack] ([stack])     559faee41174 parse (/opt/a)");
        assert_eq!(both.frame.map(|frame| (frame.symbol, both.data)), Some(("parse", true)));
        let data = Inline::read("    7ffc9a1b2c3d");
        assert_eq!((data.frame, data.data), (None, true));
        let number = Inline::read("    250000      559faee41174 parse (/opt/app/spin)");
        assert_eq!(number.frame.map(|frame| (frame.symbol, number.other)), Some(("parse", true)));
        let trace = "prev_comm=beef prev_pid=7 ==> next_pid=12";
        assert_eq!(Inline::read(trace).frame, None);
        let traced = format!("{trace} ffffffff821facd8 __schedule ([kernel.kallsyms])");
        assert_eq!(Inline::read(&traced).frame.map(|frame| frame.symbol), Some("__schedule"));
    }

    #[test]
    fn brackets_alone_are_no_kernel() {
        for (module, whose_code) in [
            ("[kernel.kallsyms]", Whose::Image),
            ("[kernel.kallsyms]_text", Whose::User),
            ("[ext4]", Whose::Kernel),
            ("[nf_conntrack]", Whose::Kernel),
            ("bpf_prog_6deef7357e7b4530", Whose::Kernel),
            ("/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz", Whose::Kernel),
            ("/usr/lib/debug/boot/vmlinux-6.1", Whose::Image),
            ("[guest.kernel.kallsyms.900]", Whose::GuestKernel),
            ("[JIT app cache]", Whose::User),
            ("[anon:dalvik-jit-code-cache]", Whose::User),
            ("[vdso]", Whose::User),
            ("[unknown]", Whose::User),
            ("/opt/my.korean/app", Whose::User),
        ] {
            assert_eq!(whose(module, 0x1165), whose_code, "{module}");
        }
        assert_eq!(whose("[unknown]", 0xffff_ffff_8104_f45a), Whose::Kernel);
    }
}
