//! A made-up assembly, as small as one can be, and what is read of it; and real ones where .NET is there.
//!
//! ```text
//! namespace Shop { class Orders { Parse(); class Inner { .ctor(); } } class List<T> { Add(); } }
//! ```

use crate::{Avma, FileOffset, ModuleImage, Svma};

/// Where sections begin in memory and in the file.
const CODE: u32 = 0x1000;
const CODE_FILE: u32 = 0x600;
const DATA: u32 = 0x2000;
const DATA_FILE: u32 = 0x800;
const FILE_SIZE: usize = 0x1000;

/// Places in the data section.
const COR: u32 = 0x000;
const READY: u32 = 0x080;
const FUNCTIONS: u32 = 0x100;
const METHODS: u32 = 0x180;
const INSTANCES: u32 = 0x1c0;
const METADATA: u32 = 0x200;

fn put(bytes: &mut [u8], at: u32, words: &[u32]) {
    let at = usize::try_from(at).expect("small");
    for (place, word) in bytes[at..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

fn copy(bytes: &mut [u8], at: u32, part: &[u8]) {
    let at = usize::try_from(at).expect("small");
    bytes[at..at + part.len()].copy_from_slice(part);
}

/// Names, one behind the other, and where each begins.
fn names(list: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let (mut heap, mut places) = (vec![0], Vec::new());
    for name in list {
        places.push(u8::try_from(heap.len()).expect("few"));
        heap.extend(name.as_bytes());
        heap.push(0);
    }
    (heap, places)
}

fn metadata() -> Vec<u8> {
    let list = ["<Module>", "Shop", "Orders", "Inner", "List`1", "Parse", ".ctor", "Add"];
    let (heap, at) = names(&list);
    let row = |cells: &[u8]| -> Vec<u8> { cells.iter().flat_map(|cell| [*cell, 0]).collect() };
    let type_row = |name: u8, space: u8, first: u8| row(&[0, 0, name, space, 0, 1, first]);
    let method_row = |name: u8| row(&[0, 0, 0, 0, name, 0, 1]);
    let mut rows = vec![0, 0, 0, 0, 2, 0, 0, 1];
    // Tables of types, methods, nested types: 4, 3 and 1 rows.
    rows.extend((1_u64 << 0x02 | 1 << 0x06 | 1 << 0x29).to_le_bytes());
    rows.extend([0; 8]);
    for count in [4_u32, 3, 1] {
        rows.extend(count.to_le_bytes());
    }
    rows.extend(type_row(at[0], 0, 1));
    rows.extend(type_row(at[2], at[1], 1));
    rows.extend(type_row(at[3], 0, 2));
    rows.extend(type_row(at[4], at[1], 3));
    for name in [at[5], at[6], at[7]] {
        rows.extend(method_row(name));
    }
    rows.extend(row(&[3, 2]));
    let mut root = b"BSJB\x01\0\x01\0\0\0\0\0\x04\0\0\0v4\0\0\0\0\x02\0".to_vec();
    let start = u32::try_from(root.len()).expect("small") + 12 + 20;
    let length = u32::try_from(rows.len()).expect("small");
    let mut stream = |start: u32, length: usize, name: &[u8]| {
        root.extend(start.to_le_bytes());
        root.extend(u32::try_from(length).expect("small").to_le_bytes());
        root.extend(name);
    };
    stream(start, rows.len(), b"#~\0\0");
    stream(start + length, heap.len(), b"#Strings\0\0\0\0");
    root.extend(rows);
    root.extend(heap);
    root
}

/// The file: `Parse` at 0x1000 with a handler at 0x1020, the constructor at 0x1040, `List<int>.Add` at
/// 0x1060.
fn assembly() -> Vec<u8> {
    let mut bytes = vec![0; FILE_SIZE];
    copy(&mut bytes, 0, b"MZ");
    put(&mut bytes, 0x3c, &[0x80]);
    copy(&mut bytes, 0x80, b"PE\0\0\x1d\xfd\x02\0");
    copy(&mut bytes, 0x94, &[0xf0, 0]);
    copy(&mut bytes, 0x98, &[0x0b, 0x02]);
    put(&mut bytes, 0x98 + 108, &[16]);
    put(&mut bytes, 0x98 + 112 + 14 * 8, &[DATA + COR, 72]);
    let sections = 0x98 + 0xf0;
    put(&mut bytes, sections + 8, &[0x200, CODE, 0x200, CODE_FILE, 0, 0, 0, 0x2000_0020]);
    put(&mut bytes, sections + 48, &[0x800, DATA, 0x800, DATA_FILE, 0, 0, 0, 0x4000_0040]);
    let metadata = metadata();
    let length = u32::try_from(metadata.len()).expect("small");
    put(&mut bytes, DATA_FILE + COR + 8, &[DATA + METADATA, length]);
    put(&mut bytes, DATA_FILE + COR + 64, &[DATA + READY, 52]);
    let header = [0x0052_5452, 9, 0, 3, 102, DATA + FUNCTIONS, 60];
    put(&mut bytes, DATA_FILE + READY, &header);
    let sections = [103, DATA + METHODS, 0x40, 109, DATA + INSTANCES, 0x40];
    put(&mut bytes, DATA_FILE + READY + 28, &sections);
    let functions = [0, 0x20, 0x40, 0x60].map(|at| [CODE + at, CODE + at + 0x18, 1]);
    put(&mut bytes, DATA_FILE + FUNCTIONS, functions.as_flattened());
    put(&mut bytes, DATA_FILE + FUNCTIONS + 48, &[u32::MAX, u32::MAX, 0]);
    // Three methods, of which the first two have code: functions 0 and 2.
    let tree = [2, 2, 2, (3 | 2 << 2) << 1, 0, 4 << 1];
    copy(&mut bytes, DATA_FILE + METHODS, &[(3 << 2) << 1, 1]);
    copy(&mut bytes, DATA_FILE + METHODS + 2, &tree);
    // One bucket; its entry is method 3 of the instance of type 4 with an int: function 3.
    let signature = [0x40, 0x15, 0x12, 4 << 2, 1, 0x08, 3, 6 << 1];
    copy(&mut bytes, DATA_FILE + INSTANCES, &[0, 2, 4, 0x77, 1 << 1]);
    copy(&mut bytes, DATA_FILE + INSTANCES + 5, &signature);
    copy(&mut bytes, DATA_FILE + METADATA, &metadata);
    bytes
}

fn name_at(image: &ModuleImage, address: u64) -> String {
    let found = image.symbolize(Svma(address));
    found.frames[0].function.as_deref().unwrap_or("-").to_owned()
}

#[test]
fn methods_of_an_assembly_have_their_names() {
    let image = ModuleImage::from_bytes(&assembly(), "Shop.dll").expect("an assembly");
    assert!(image.is_managed() && image.has_symbols() && !image.has_unwind_information());
    for (address, name) in [
        (0x0fff, "-"),
        (0x1000, "Shop.Orders.Parse"),
        (0x1030, "Shop.Orders.Parse"),
        (0x1038, "-"),
        (0x1040, "Shop.Orders.Inner..ctor"),
        (0x1077, "Shop.List`1[System.Int32].Add"),
        (0x1078, "-"),
    ] {
        assert_eq!(name_at(&image, address), name, "{address:#x}");
    }
}

#[test]
fn an_address_is_found_by_the_mapping_of_its_section() {
    let image = ModuleImage::from_bytes(&assembly(), "Shop.dll").expect("an assembly");
    // The kernel maps whole pages: this one begins before the section.
    let (start, offset) = (Avma(0x7f00_0000_1000 - 0x600), FileOffset(0));
    let found = image.svma_in_mapping(Avma(0x7f00_0000_1040), start, offset);
    assert_eq!(
        found.map(|address| name_at(&image, address.0)).as_deref(),
        Some("Shop.Orders.Inner..ctor")
    );
}

#[test]
fn a_file_without_precompiled_code_is_refused() {
    let mut bytes = assembly();
    put(&mut bytes, DATA_FILE + READY, &[0]);
    let error = ModuleImage::from_bytes(&bytes, "a.dll").expect_err("no code").to_string();
    assert!(error.contains("without precompiled .NET code"), "{error}");
    put(&mut bytes, DATA_FILE + READY, &[0x0052_5452, 9, 0, 1, 115]);
    let error = ModuleImage::from_bytes(&bytes, "a.dll").expect_err("elsewhere").to_string();
    assert!(error.contains("composite image"), "{error}");
}

/// Where the assembly begins in a program's file, and the page that its code is mapped from.
const BUNDLED: u32 = 0x2740;
const BUNDLED_PAGE: u64 = 0x2000;

/// A program with an assembly in its own file: the host's headers and data, the assembly, the manifest.
fn program() -> Vec<u8> {
    const DATA_AT: u32 = 0x100;
    const MANIFEST: u32 = 0x3740;
    let mut bytes = vec![0; 0x4000];
    // ELF for x86-64, with one program header: data.
    copy(&mut bytes, 0, b"\x7fELF\x02\x01\x01");
    put(&mut bytes, 16, &[3 | 62 << 16, 1]);
    put(&mut bytes, 32, &[64]);
    put(&mut bytes, 52, &[64 | 56 << 16, 1]);
    put(&mut bytes, 64, &[1, 6, DATA_AT, 0, DATA_AT, 0, DATA_AT, 0, 0x100]);
    put(&mut bytes, DATA_AT + 0x10, &[MANIFEST]);
    copy(&mut bytes, DATA_AT + 0x18, &super::bundle::MARK);
    copy(&mut bytes, BUNDLED, &assembly());
    let mut manifest = [6_u32, 0, 3].map(u32::to_le_bytes).concat();
    manifest.extend(b"\x02id");
    manifest.extend([0; 5 * 8]);
    let mut file = |place: [u64; 3], kind: u8, name: &str| {
        manifest.extend(place.map(u64::to_le_bytes).concat());
        manifest.extend([kind, u8::try_from(name.len()).expect("short")]);
        manifest.extend(name.as_bytes());
    };
    file([0x80, 0x80, 0], 4, "Shop.runtimeconfig.json");
    file([BUNDLED.into(), 0x900, 0x80], 1, "Packed.dll");
    file([BUNDLED.into(), 0x1000, 0], 1, "Shop.dll");
    copy(&mut bytes, MANIFEST, &manifest);
    bytes
}

#[test]
fn an_assembly_in_a_programs_own_file_has_its_names() {
    let image = ModuleImage::from_bytes(&program(), "shop").expect("a program");
    assert!(!image.is_managed());
    for offset in [0, 0x1000, BUNDLED_PAGE + 0x1000, u64::MAX] {
        assert_eq!(image.bundled(FileOffset(offset)), None, "{offset:#x}");
    }
    let page = FileOffset(BUNDLED_PAGE);
    let found = image.bundled(page).expect("the mapping begins before its code");
    assert_eq!((&*found.name, found.offset), ("Shop.dll", FileOffset(BUNDLED.into())));
    let shop = image.open_bundled(found).expect("an assembly");
    assert!(shop.is_managed() && shop.key() != image.key());
    let start = Avma(0x7f00_0000_0000);
    let code = start.0 + u64::from(BUNDLED + CODE_FILE) - BUNDLED_PAGE;
    let address = shop.svma_in_mapping(Avma(code + 0x40), start, page).expect("it is loaded");
    assert_eq!(name_at(&shop, address.0), "Shop.Orders.Inner..ctor");
    let no_pdb = image.bundled_lines("Shop", &mut |_| None);
    assert!(no_pdb.is_some_and(|lines| lines.is_empty()));
    assert!(image.bundled_lines("Packed", &mut |_| None).is_none());
}

#[test]
fn a_damaged_program_has_no_assemblies_or_others() {
    let whole = program();
    let ask = |bytes: &[u8]| {
        let Ok(image) = ModuleImage::from_bytes(bytes, "hostile") else { return };
        let found = image.bundled(FileOffset(BUNDLED_PAGE));
        _ = found.map(|assembly| image.open_bundled(assembly).is_ok());
    };
    for length in (0..whole.len()).step_by(7) {
        ask(&whole[..length]);
    }
    let host_and_manifest = (0..0x140).chain(0x3740..0x3800);
    for at in host_and_manifest.filter(|at| whole[*at] != 0) {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].fill(value);
            ask(&bytes);
        }
    }
}

/// Whatever is cut or changed, there is an answer, and it comes soon.
#[test]
fn damaged_assemblies_have_fewer_names() {
    let whole = assembly();
    let ask = |bytes: &[u8]| {
        if let Ok(image) = ModuleImage::from_bytes(bytes, "hostile") {
            for address in [0, 0x1000, 0x1030, 0x1060, u64::MAX] {
                assert!(!image.symbolize(Svma(address)).frames.is_empty());
            }
        }
    };
    for length in 0..whole.len() {
        ask(&whole[..length]);
    }
    let used = (0..whole.len()).filter(|at| whole[*at] != 0).collect::<Vec<_>>();
    for at in used {
        for value in [0, 1, 0x15, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            ask(&bytes);
            let four = bytes.get_mut(at..at + 4);
            four.into_iter().for_each(|four| four.fill(value));
            ask(&bytes);
        }
    }
}
