//! Stripped programs and where their names then come from: separate debug files, MiniDebugInfo, linkage
//! stubs, and unwind entries that at least tell functions apart.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use culprit_symbols::{ImageCache, ModuleImage, NameSource, Svma};

use crate::programs::{Workshop, open, run};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Start and size of a function, by `nm` of the unstripped program.
fn function(binary: &Path, wanted: &str) -> (u64, u64) {
    let symbols = run("nm", &["-S", text(binary)]).expect("binutils");
    let line =
        symbols.lines().find(|line| line.ends_with(&format!(" {wanted}"))).expect("it is there");
    let mut words = line.split(' ').map(|word| u64::from_str_radix(word, 16));
    (words.next().expect("start").expect("hex"), words.next().expect("size").expect("hex"))
}

/// A program with debug information, a copy without, and the part that was taken out.
struct Split {
    workshop: Workshop,
    whole: PathBuf,
    stripped: PathBuf,
    debug: PathBuf,
}

impl Split {
    fn new(test: &str) -> Option<Self> {
        let workshop = Workshop::new();
        let whole =
            workshop.compile(test, "inline.c", "whole", &["-O2", "-g", "-Wl,--build-id"])?;
        let (stripped, debug) = (workshop.path("stripped"), workshop.path("stripped.debug"));
        run("objcopy", &["--only-keep-debug", text(&whole), text(&debug)]).expect("binutils");
        run("strip", &["-o", text(&stripped), text(&whole)]).expect("binutils");
        Some(Self { workshop, whole, stripped, debug })
    }
}

#[test]
fn stripped_functions_are_told_apart_by_their_unwind_entries() {
    let Some(split) = Split::new("stripped_functions_are_told_apart_by_their_unwind_entries")
    else {
        return;
    };
    let image = open(&split.stripped);
    for name in ["work", "outer"] {
        let (start, size) = function(&split.whole, name);
        for address in [start, start + size / 2, start + size - 1] {
            let found = image.symbolize(Svma(address));
            assert_eq!((found.source, &found.frames[0].function), (NameSource::None, &None));
            let range = found.function.expect("an unwind entry");
            assert_eq!((range.start, range.end), (Svma(start), Svma(start + size)), "{name}");
        }
    }
}

#[test]
fn a_debug_file_is_found_by_build_id_below_the_callers_root() {
    let Some(split) = Split::new("a_debug_file_is_found_by_build_id_below_the_callers_root") else {
        return;
    };
    let mut image = open(&split.stripped);
    let id = image.build_id().expect("asked of the linker").to_string();
    let expected =
        PathBuf::from(format!("/usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    assert_eq!(image.debug_file_candidates(), [expected.as_path()]);
    // The root of a container: the file is there and nowhere else.
    let root = split.workshop.path("root");
    let inside = root.join(expected.strip_prefix("/").expect("absolute"));
    fs::create_dir_all(inside.parent().expect("a folder")).expect("a temporary folder");
    fs::copy(&split.debug, &inside).expect("a copy");
    image.attach_debug_files(&mut |path| File::open(root.join(path.strip_prefix("/").ok()?)).ok());
    same_answers(&image, &open(&split.whole), &split.whole);
}

#[test]
fn a_debug_link_must_have_the_right_sum() {
    let Some(split) = Split::new("a_debug_link_must_have_the_right_sum") else { return };
    let linked = split.workshop.path("linked");
    let link = format!("--add-gnu-debuglink={}", text(&split.debug));
    // Without a build id only the sum says what belongs together.
    let no_id = "--remove-section=.note.gnu.build-id";
    run("objcopy", &[&link, no_id, text(&split.stripped), text(&linked)]).expect("binutils");
    let asked = RefCell::new(Vec::new());
    let mut image = open(&linked);
    image.attach_debug_files(&mut |path| {
        asked.borrow_mut().push(path.to_owned());
        (path.parent() == linked.parent()).then(|| File::open(path).ok())?
    });
    assert_eq!(asked.into_inner(), [linked.with_file_name("stripped.debug")]);
    same_answers(&image, &open(&split.whole), &split.whole);

    let mut wrong = open(&linked);
    wrong.attach_debug_files(&mut |_| File::open(&split.whole).ok());
    assert!(
        wrong.problems().iter().any(|problem| problem.reason.contains("CRC")),
        "{:?}",
        wrong.problems()
    );
    assert_eq!(wrong.symbolize(Svma(function(&split.whole, "work").0)).source, NameSource::None);
}

fn same_answers(one: &ModuleImage, other: &ModuleImage, whole: &Path) {
    for name in ["work", "outer", "main"] {
        let (start, size) = function(whole, name);
        for address in start..start + size {
            let (one, other) = (one.symbolize(Svma(address)), other.symbolize(Svma(address)));
            assert_eq!(one, other, "{name} at {address:#x}");
            assert!(
                one.frames.iter().all(|frame| frame.line.is_some() && frame.function.is_some())
            );
        }
    }
}

#[test]
fn minidebuginfo_names_static_functions() {
    let test = "minidebuginfo_names_static_functions";
    let Some(split) = Split::new(test) else { return };
    let (mini, packed) = (split.workshop.path("mini"), split.workshop.path("mini.xz"));
    run("objcopy", &["--strip-debug", text(&split.debug), text(&mini)]).expect("binutils");
    if let Err(reason) = run("xz", &["-k", text(&mini)]) {
        println!("skipped: {test}: xz: {reason}");
        return;
    }
    let section = format!("--add-section=.gnu_debugdata={}", text(&packed));
    run("objcopy", &[&section, text(&split.stripped)]).expect("binutils");
    let image = open(&split.stripped);
    assert!(image.problems().is_empty(), "{:?}", image.problems());
    let found = image.symbolize(Svma(function(&split.whole, "work").0 + 1));
    assert_eq!(
        (found.frames[0].function.as_deref(), found.source),
        (Some("work"), NameSource::Symbol)
    );
}

#[test]
fn linkage_stubs_have_the_names_of_what_they_call() {
    let test = "linkage_stubs_have_the_names_of_what_they_call";
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: {test}: stubs are decoded on x86-64 only");
        return;
    }
    let workshop = Workshop::new();
    let layouts: [&[&str]; 4] =
        [&[], &["-no-pie"], &["-fcf-protection", "-Wl,-z,ibtplt"], &["-Wl,-z,now"]];
    for (index, flags) in layouts.iter().enumerate() {
        let Some(binary) = workshop.compile(test, "inline.c", &format!("stubs{index}"), flags)
        else {
            continue;
        };
        run("strip", &[text(&binary)]).expect("binutils");
        let image = open(&binary);
        let listing = run("objdump", &["-d", text(&binary)]).expect("binutils");
        let mut checked = 0;
        // `0000000000001030 <printf@plt>:`
        for line in listing.lines().filter(|line| line.ends_with("@plt>:")) {
            let (address, name) = line.trim_end_matches(">:").split_once(" <").expect("a label");
            let start = u64::from_str_radix(address, 16).expect("hex");
            for address in [start, start + 4] {
                let found = image.symbolize(Svma(address));
                assert_eq!(
                    found.frames[0].function.as_deref(),
                    Some(name),
                    "{flags:?} at {address:#x}"
                );
            }
            checked += 1;
        }
        assert!(checked >= 2, "{flags:?}: {checked} stubs\n{listing}");
    }
}

#[test]
fn a_static_programs_library_functions_have_names() {
    let test = "a_static_programs_library_functions_have_names";
    let workshop = Workshop::new();
    let Some(binary) = workshop.compile(test, "inline.c", "static", &["-static"]) else { return };
    let image = open(&binary);
    for name in ["printf", "abort", "work"] {
        let (start, size) = function(&binary, name);
        let found = image.symbolize(Svma(start + size - 1));
        assert_eq!(found.frames[0].function.as_deref(), Some(name));
    }
}

#[test]
fn one_image_for_all_copies_of_a_file() {
    let Some(split) = Split::new("one_image_for_all_copies_of_a_file") else { return };
    let copy = split.workshop.path("copy");
    fs::copy(&split.whole, &copy).expect("a copy");
    let mut cache = ImageCache::new();
    let mut image = |path: &Path, expected| {
        cache.open(File::open(path).expect("built"), text(path), expected, &mut |_| None)
    };
    let first = image(&split.whole, None).expect("opens");
    let id = first.build_id().expect("asked of the linker").clone();
    for path in [&split.whole, &copy] {
        assert!(std::sync::Arc::ptr_eq(&first, &image(path, Some(&id)).expect("opens")));
    }
    let other = culprit_symbols::BuildId::new(&[7; 20]).expect("20 bytes");
    let error = image(&copy, Some(&other)).expect_err("another program was mapped");
    assert!(error.to_string().contains("0707"), "{error}");
    assert_eq!(cache.len(), 1);
    assert!(cache.memory_bytes() > 0);
}
