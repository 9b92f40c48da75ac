use super::*;

#[test]
fn memory_without_a_file_is_generated_code() {
    for path in ["", "//anon", "/memfd:doublemapper (deleted)", "[heap]"] {
        assert!(is_generated(path), "{path}");
    }
    for path in ["/usr/bin/cat", "[vdso]", "/tmp/jit-12.dump"] {
        assert!(!is_generated(path), "{path}");
    }
    assert!(is_jitdump("/tmp/jit-12.dump"));
}

#[test]
fn what_the_kernel_maps_for_probes_is_no_file() {
    let (mut modules, mut ledger) = (Modules::default(), Ledger::default());
    let names = ["[uprobes]", "[uprobes-trampoline]", "[uprobes-trampo"];
    let ids = names.map(|name| modules.mapped(1, None, (name, FileOffset(0)), &mut ledger));
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(ledger.rows().is_empty(), "nothing was unreadable");
}

#[test]
fn a_file_is_one_row_for_all_processes() {
    let (mut modules, mut ledger) = (Modules::default(), Ledger::default());
    let file = |generation| Some(MappedFile { device: 1, inode: 2, generation });
    let mut mapped =
        |pid, file| modules.mapped(pid, file, ("/a/libx.so", FileOffset(0)), &mut ledger);
    let first = mapped(1, file(3));
    assert_eq!(mapped(2, file(3)), first);
    assert_ne!(mapped(2, file(4)), first);
    assert_eq!(modules.rows()[0].name.as_str(), "libx.so");
}

#[test]
fn a_file_and_its_copy_are_one_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy");
    let program = std::env::current_exe().expect("a path");
    std::fs::copy(&program, &copy).expect("room for a copy");
    let (mut modules, mut ledger) = (Modules::default(), Ledger::default());
    let mut module_of = |inode, path: &Path| {
        let mapped = Some(MappedFile { device: 1, inode, generation: 0 });
        let file = Ok(File::open(path).expect("it is there"));
        let path = path.to_str().expect("UTF-8").to_owned();
        modules.deliver(vec![OpenedFile { pid: 1, path: path.clone(), mapped, file }]);
        modules.mapped(1, mapped, (&path, FileOffset(0)), &mut ledger)
    };
    assert_eq!(module_of(1, &program), module_of(2, &copy));
}

#[test]
fn a_deleted_file_keeps_its_name() {
    assert_eq!(base_name("/tmp/prog (deleted)"), "prog");
    assert_eq!(base_name("[vdso]"), "[vdso]");
    assert_eq!(base_name("/memfd:runc_cloned:/proc/self/exe (deleted)"), "runc_cloned");
    assert_eq!(base_name("/memfd: (deleted)"), "memfd");
}
