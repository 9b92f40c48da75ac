//! Reads diskspd's command lines, with its meanings and defaults (its `CmdLineParser`).
//!
//! Three steps: the line becomes words (here), words become options (`options`), options become a
//! [`Definition`] (`plan`). What cannot be done here is refused where it would be another workload, and
//! noted where it only changes details.

mod options;
mod plan;

use std::collections::BTreeSet;

use super::Definition;
use crate::inside::Fault;

/// What diskspd does where the line says nothing.
const BLOCK: u64 = 64 << 10;
const DURATION: u64 = 10;
const WARMUP: u64 = 5;
const DEPTH: u32 = 2;

/// The parts of a non-uniform distribution, as shares or bytes of the file.
#[derive(Debug, PartialEq)]
enum Spots {
    Percent(Vec<(u64, u64)>),
    Absolute(Vec<(u64, u64)>),
}

/// What the line says, `None` where it says nothing.
#[derive(Debug, Default)]
struct Options {
    seen: BTreeSet<char>,
    block: Option<u64>,
    base: u64,
    size: Option<u64>,
    limit: Option<u64>,
    warmup: Option<u64>,
    duration: Option<u64>,
    cooldown: u64,
    threads: Option<u32>,
    pool: Option<u32>,
    depth: Option<u32>,
    pool_depth: Option<u32>,
    random: bool,
    random_share: Option<u64>,
    sequential: bool,
    shared_offset: bool,
    align: Option<u64>,
    thread_stride: Option<u64>,
    spots: Option<Spots>,
    write_percent: u64,
    rate: Option<Rate>,
    uncached: Option<bool>,
    write_through: bool,
    mapped: bool,
    seed: Option<u64>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Rate {
    Requests(u64),
    BytesPerMillisecond(u64),
}

/// What a command line of diskspd does, with or without the program's name.
///
/// # Errors
/// When diskspd would refuse it, too, or it cannot be done here; the fault names the option.
pub fn parse(line: &str) -> Result<Definition, Fault> {
    let words = arguments(split(line)?);
    if words.is_empty() {
        return Err(Fault::new("the diskspd line is empty")
            .hint("give its options, such as `-b4K -r -o32 -c1G test.dat`"));
    }
    let first_target = words.iter().position(|word| option(word).is_none());
    let (given, targets) = words.split_at(first_target.unwrap_or(words.len()));
    // `-b 4K` is what people try first.
    if let (Some(last), Some(value)) = (given.last(), targets.first())
        && last.chars().count() == 2
        && value.starts_with(|digit: char| digit.is_ascii_digit())
    {
        return Err(Fault::new(format!("there is a space between `{last}` and `{value}`"))
            .hint(format!("write the value directly after its option: `{last}{value}`")));
    }
    if let Some(late) = targets.iter().find(|word| word.starts_with('-')) {
        return Err(Fault::new(format!(
            "the option `{late}` comes after a target: `{}`",
            targets[0]
        ))
        .hint(
            "write all options before the first target, each with its value and without a space",
        ));
    }
    let mut options = Options::default();
    // Sizes may be counted in blocks, so the block comes first, wherever it stands.
    for (letter, value) in given.iter().filter_map(|word| option(word)) {
        if letter == 'b' {
            options.block = Some(options.size_of('b', value)?);
        }
    }
    for (letter, value) in given.iter().filter_map(|word| option(word)) {
        options.take(letter, value)?;
    }
    options.define(targets)
}

/// Words between spaces; quotes keep spaces, and a backslash is part of a path.
fn split(line: &str) -> Result<Vec<String>, Fault> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = quote {
        return Err(Fault::new(format!("a quote {quote} is not closed")).hint("close or remove it"));
    }
    words.extend(word);
    Ok(words)
}

/// Without the program, signs that continue a line, and what the shell does with the output. Web
/// pages make dashes of hyphens.
fn arguments(words: Vec<String>) -> Vec<String> {
    let is_program = |word: &String| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").unwrap_or(&name) == "diskspd"
    };
    let options = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
    let program = words.iter().take(options).position(is_program);
    let after = program.map_or(0, |program| program + 1);
    let shell =
        |word: &String| ["|", ">", "1>", "2>", "&&", ";"].iter().any(|s| word.starts_with(s));
    let words = words.into_iter().skip(after).take_while(|word| !shell(word));
    let words = words.filter(|word| !matches!(word.as_str(), "^" | "\\" | "`" | ""));
    words
        .map(|word| match word.strip_prefix(['–', '—', '−']) {
            Some(rest) => format!("-{rest}"),
            None => word,
        })
        .collect()
}

/// The letter of an option and what is glued to it. A word that begins with `/` is an option only
/// where its value has the form of one: `/t4` is, `/tmp/file` and `/data` are paths.
fn option(word: &str) -> Option<(char, &str)> {
    let split = |rest: &'_ str| rest.chars().next().map(|letter| (letter, letter.len_utf8()));
    if let Some(rest) = word.strip_prefix('-') {
        // A lone `-` has no letter; `take` refuses it.
        let (letter, width) = split(rest).unwrap_or((' ', 0));
        return Some((letter, &rest[width..]));
    }
    let rest = word.strip_prefix('/')?;
    let (letter, width) = split(rest)?;
    let value = &rest[width..];
    let form = value.is_empty() || value.starts_with(|digit: char| digit.is_ascii_digit());
    let known = match letter {
        'S' => value.chars().all(|flag| "bhmruw".contains(flag)),
        'f' => form || value.chars().all(|flag| "rst".contains(flag)),
        'r' => {
            let value = value.strip_prefix('s').unwrap_or(value);
            value.starts_with("dpct")
                || value.starts_with("dabs")
                || value.starts_with(|digit: char| digit.is_ascii_digit())
                || value.is_empty()
        }
        's' => form || value.starts_with('i') && value.len() < 8,
        'R' => matches!(value, "text" | "xml" | "p" | "ptext" | "pxml"),
        'X' => value.to_ascii_lowercase().ends_with(".xml"),
        'Z' => form || value == "r",
        'N' => matches!(value, "v" | "n" | "i"),
        'a' => form || value.starts_with('g'),
        letter => form && "?bBcCDdFghiIjlLnoOpPtTvwWxz".contains(letter),
    };
    let path = value.contains('/') && !value.starts_with("dpct") && !value.starts_with("dabs");
    (known && !path).then_some((letter, value))
}

#[cfg(test)]
mod tests {
    use super::super::spec::{Access, Cache, Engine, HotSpot, Spec};
    use super::*;
    use std::time::Duration;

    fn spec(line: &str) -> Spec {
        parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}")).spec
    }

    fn notes(line: &str) -> String {
        parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}")).notes.join("; ")
    }

    fn refused(line: &str) -> String {
        let fault = parse(line).expect_err(line);
        assert!(fault.hint.is_some(), "{line}: {fault}");
        fault.what
    }

    const PUBLISHED: &str = "diskspd -b128K -d120 -o16 -t4 -r -c2G -w60 -W2 -C2 C:\\test.dat";

    #[test]
    fn published_line() {
        let found = parse(PUBLISHED).unwrap();
        let expected = Spec {
            engine: Engine::IoUring,
            block: 128 << 10,
            threads: 4,
            depth: 16,
            access: Access::Random,
            write_share: 0.6,
            size: 2 << 30,
            cache: Cache::Cached,
            warmup: Duration::from_secs(2),
            duration: Duration::from_secs(120),
            cooldown: Duration::from_secs(2),
            ..Spec::default()
        };
        assert_eq!(found.spec, expected);
        assert_eq!(found.target.as_deref(), Some("C:\\test.dat"));
        let notes = found.notes.join("; ");
        for part in [
            "no -S: everything goes through the page cache",
            "no -L",
            "`-w60` makes 60 % of the requests writes; capital `-W2` is the warm-up",
            "4 x 16 = 64 requests are in flight",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        assert!(found.notes.iter().all(|note| !note.ends_with('.')));
    }

    #[test]
    fn defaults_are_those_of_diskspd() {
        let found = spec("-c1G file");
        assert_eq!((found.block, found.threads, found.depth), (64 << 10, 1, 2));
        assert_eq!((found.access, found.cache), (Access::Sequential, Cache::Cached));
        let times = [found.warmup, found.duration, found.cooldown].map(|time| time.as_secs());
        assert_eq!(times, [5, 10, 0]);
        assert!(found.write_share.abs() < 1e-9 && !found.drop_cache);
    }

    #[test]
    fn spelling() {
        let plain = spec("-b4K -r -t2 -c1G a");
        for line in [
            "diskspd.exe -b4K -r -t2 -c1G a",
            "\"C:\\Program Files\\diskspd.exe\" -b4k -r -t2 -c1g \"a b\"",
            ".\\DiskSpd /b4K /r /t2 /c1G a",
            "/opt/bin/diskspd -b4K -r -t2 -c1G /b4K/file",
            "-b4K -r -t2 -c1G /data/file\r\n",
            "–b4K –r –t2 –c1G a > out.txt",
            "-c262144b -r -t2 -b4K",
            "sudo diskspd -b4K ^\n -r -t2 -c1G a | more",
        ] {
            assert_eq!(spec(line), plain, "{line}");
        }
        assert_eq!(parse("-c1G /data/file").unwrap().target.as_deref(), Some("/data/file"));
        assert_eq!(parse("/c1G \"a b\"").unwrap().target.as_deref(), Some("a b"));
    }

    #[test]
    fn slashes_are_options_only_in_their_form() {
        for word in ["/t4", "/r", "/Su", "/w60", "/rs40", "/rdpct90/10", "/fr", "/si64K", "/?"] {
            assert!(option(word).is_some(), "{word}");
        }
        for word in ["/tmp", "/data/file", "/b4K/file", "/root", "/srv", "/Storage", "/", "file"] {
            assert!(option(word).is_none(), "{word}");
        }
        assert!(option("-tmp").is_some());
    }

    #[test]
    fn caches() {
        for (line, cache) in [
            ("", Cache::Cached),
            ("-Sb", Cache::Cached),
            ("-S", Cache::Direct),
            ("-Su", Cache::Direct),
            ("-Sw", Cache::WriteThrough),
            ("-Sbw", Cache::WriteThrough),
            ("-Swu", Cache::DirectWriteThrough),
            ("-Su -Sw", Cache::DirectWriteThrough),
            ("-Sh", Cache::DirectWriteThrough),
            ("-h", Cache::DirectWriteThrough),
        ] {
            assert_eq!(spec(&format!("{line} -c1G")).cache, cache, "{line}");
        }
        assert!(notes("-c1G -Sb").contains("-Sb: everything"));
        assert!(!notes("-c1G -Su").contains("page cache"));
        for line in ["-Sub", "-Su -S", "-Suu", "-Smu", "-Sum", "-Sr", "-Sq", "-Sh -Sw"] {
            refused(line);
        }
        let mapped = parse("-Sm -o8 -c1G").unwrap();
        assert_eq!((mapped.spec.engine, mapped.spec.depth), (Engine::Mmap, 1));
        assert!(mapped.notes.join(" ").contains("waits for its page"));
        assert_eq!(spec("-Smw -Nv -c1G").cache, Cache::Cached);
    }

    #[test]
    fn order_and_alignment() {
        assert_eq!(spec("-r4K -b8K -c1G").align, Some(4 << 10));
        assert_eq!(spec("-r2b -b8K -c1G").align, Some(16 << 10));
        assert_eq!(spec("-r -b8K -c1G").align, None);
        assert_eq!(spec("-s1M -c1G").align, Some(1 << 20));
        assert_eq!(spec("-rs40 -r4K -c1G").access, Access::Mixed { random: 0.4 });
        assert_eq!(spec("-rs100 -c1G").access, Access::Random);
        assert_eq!(spec("-t4 -T1M -c1G").thread_stride, 1 << 20);
        assert_eq!(spec("-t4 -T1M -r -c1G").thread_stride, 0);
        assert!(notes("-t4 -c1G").contains("no `-T`"));
        assert!(notes("-t4 -si -c1G").contains("`-si`"));
        assert!(notes("-rs40 -w50 -c1G").contains("sequential run"));
        for line in ["-r -s", "-s -r", "-rs40 -s4K", "-rs0", "-rs101", "-rsx", "-r0", "-s0", "-rx"]
        {
            refused(line);
        }
    }

    #[test]
    fn places() {
        assert_eq!(spec("-c1G -f512M").working_set, Some(512 << 20));
        assert_eq!(spec("-c1G -f2G").working_set, None);
        assert_eq!(spec("-f1G a").size, 1 << 30);
        let base = parse("-c1G -B256M").unwrap();
        assert_eq!(base.spec.working_set, Some(768 << 20));
        assert!(base.notes.join(" ").contains("256 MiB into the file"));
        assert!(notes("-b4K a").contains("--size"));
        assert!(spec("-b128M a").check().is_ok());
        assert!(notes("-c1G -frs").contains("hint"));
        refused("-c1G -B1G");
        refused("-c64K -b1M");
    }

    #[test]
    fn hot_spots() {
        let spot = |requests, bytes| HotSpot { requests, bytes };
        let hot = spec("-r -c1G -rdpct90/10:0/10:5/20").hot;
        assert_eq!(hot, [spot(0.9, 0.1), spot(0.0, 0.1), spot(0.05, 0.2)]);
        let hot = spec("-r -c4G -rdabs90/1G:5/1G").hot;
        assert_eq!(hot, [spot(0.9, 0.25), spot(0.05, 0.25)]);
        // The example of diskspd's help: what does not fit is cut off.
        let hot = spec("-r -c20G -rdabs90/10G:0/10G:5/20G").hot;
        assert_eq!(hot, [spot(1.0, 0.5), spot(0.0, 0.5)]);
        assert!(spec("-r -rdabs50/100M").size >= 100 << 20);
        for line in [
            "-rdpct90/10",
            "-r -rdpct",
            "-r -rdpct90",
            "-r -rdpct90/0",
            "-r -rdpct60/10:60/10",
            "-r -rdpct10/60:10/60",
            "-r -rdabs1/20000000T:1/20000000T",
            "-r -rdzipf1",
            "-r -rdpct0/100",
        ] {
            refused(line);
        }
    }

    #[test]
    fn rates() {
        assert_eq!(spec("-g100i -c1G").rate, Some(100));
        assert_eq!(spec("-g4096 -b4K -c1G").rate, Some(1000));
        assert_eq!(spec("-g1 -b1M -c1G").rate, Some(1));
        assert!(notes("-g1 -b1M -c1G").contains("rounded"));
        for line in ["-g0", "-g", "-gi", "-g1x", "-i4 -j10"] {
            refused(line);
        }
        assert!(notes("-i4 -c1G").contains("bursts need both"));
    }

    #[test]
    fn threads_and_depth() {
        assert_eq!(spec("-o1 -c1G").engine, Engine::Psync);
        assert_eq!(spec("-F8 -O4 -c1G").in_flight(), 32);
        for line in ["-t2 -F2", "-O4", "-F2 -o2 -O2", "-t0", "-o0", "-t99999999999", "-t-1", "-t+1"]
        {
            refused(line);
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("").contains("empty"));
        assert!(refused("  \r\n").contains("empty"));
        assert!(refused("-b 4K -r").contains("`-b`"));
        assert!(refused("-b4K file -r").contains("`-r` comes after a target"));
        assert!(refused("-w -c1G").contains("`-w`"));
        assert!(refused("-w101").contains("`-w101`"));
        assert!(refused("-q7").contains("`-q7`"));
        assert!(refused("-c1G \"a").contains("quote"));
        assert!(refused("-d0 -c1G").contains("measured time"));
        assert!(refused("-Xp.xml").contains("XML"));
        assert!(refused("-?").contains("help"));
        assert!(refused("-c99999999999999999999").contains("-c"));
        assert!(refused("-c18446744073709551615T").contains("-c"));
        assert!(refused("-W99999999999").contains("-W"));
        assert!(refused("-Su -b1000 -c1G").contains("512"));
        assert!(refused("-b5G -c10G").contains("too large"));
        assert!(refused("-").contains('-'));
        assert!(refused("-c1Gß").contains("-c"));
    }

    #[test]
    fn what_is_left_out_is_noted() {
        let left_out = "-c1G -a0,1 -D500 -eDISK_IO -I2 -l -p -x -ysgo -Zr -z -Rp";
        for part in ["-a", "-D", "-e", "-I", "-l", "-p", "-x", "-y", "-Z", "-z", "-Rp"] {
            assert!(notes(left_out).contains(&format!("`{part}`")), "{part}");
        }
        assert_eq!(spec("-z42 -L -v -n -Rxml -P -c1G").seed, 42);
        assert!(notes("-c1G a b c").contains("3 targets"));
        assert!(notes("-t2 -t4 -c1G").contains("more than once"));
        assert_eq!(spec("-t2 -t4 -c1G").threads, 4);
    }

    #[test]
    fn no_line_is_too_strange() {
        let letters: Vec<char> = "-/bcdfgrstwWSRZabs0189KMGTb:%\"' \u{df}\u{130}".chars().collect();
        let mut seed = 1_u64;
        let mut throw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..20_000 {
            let mut line: Vec<char> =
                format!("{PUBLISHED} -rdpct90/10:5/20 -rs40 -g10i -B4K -T2b").chars().collect();
            for _ in 0..=throw(8) {
                let at = throw(line.len());
                match throw(3) {
                    0 => line[at] = letters[throw(letters.len())],
                    1 => drop(line.remove(at)),
                    _ => line.insert(at, letters[throw(letters.len())]),
                }
            }
            line.truncate(throw(line.len()) + 1);
            let line: String = line.into_iter().collect();
            if let Ok(found) = parse(&line) {
                assert!(found.spec.check().is_ok(), "{line}");
            }
        }
    }
}
