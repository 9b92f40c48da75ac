//! Whose a function of a program's own module is: compilers put code of standard libraries into
//! programs, and its name tells where its source file does not.

use super::CodeOrigin;
use super::paths;
use super::source::ManagedName;
use crate::names::{Families, Family, Language, library, packages};

/// Whose a function is that a runtime generated code for.
pub(super) fn managed_origin(found: ManagedName<'_>) -> CodeOrigin {
    match found {
        ManagedName::Script { path: Some(path), .. } => paths::script_origin(path),
        ManagedName::Script { path: None, .. } => CodeOrigin::Own,
        ManagedName::Method { assembly: Some(assembly), .. } => paths::assembly_origin(assembly),
        ManagedName::Method { name, assembly: None } => class_origin(&name),
    }
}

/// Whose a method is, by its package: `java.util.HashMap.get`, also as `java/util/HashMap.get`.
pub(super) fn class_origin(name: &str) -> CodeOrigin {
    let same = |(of, one): (char, char)| of == one || of == '.' && one == '/';
    let is_in =
        |package: &str| package.len() <= name.len() && package.chars().zip(name.chars()).all(same);
    let library = packages(Language::Jvm).iter().any(|package| is_in(package));
    if library { CodeOrigin::Library } else { CodeOrigin::Own }
}

/// Whose a native function of a program's own module is; `go` where the module was compiled from Go.
pub(super) fn native_origin(function: &str, go: bool) -> CodeOrigin {
    if library(function, Families::NONE).has(Family::Start) {
        return CodeOrigin::Runtime;
    }
    let standard = if go { is_go(function) } else { is_cpp(function) || is_rust(function) };
    match (standard, is_reserved(function)) {
        (true, _) => CodeOrigin::Library,
        (_, true) => CodeOrigin::Runtime,
        _ => CodeOrigin::Own,
    }
}

/// True for names that the standards of C and C++ reserve for compilers and their libraries: two
/// underscores first, or one and a capital letter.
fn is_reserved(function: &str) -> bool {
    let mut first = function.chars();
    first.next() == Some('_') && first.next().is_some_and(|c| c == '_' || c.is_ascii_uppercase())
        // Rust's old mangling, as it stands where nobody could read it.
        && !function.starts_with("_ZN")
}

fn is_cpp(function: &str) -> bool {
    packages(Language::Cpp).iter().any(|start| function.starts_with(start))
}

/// Types that have functions of their own in Rust's library without being in a crate: `<str>::trim`.
const RUST_TYPES: [&str; 21] = [
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
    "i128", "isize", "f16", "f32", "f64", "f128", "*const", "*mut",
];

/// True for Rust's own crates: `core::..`, `<alloc::vec::Vec<T>>::push`, and
/// `<core::X as core::Y>::f`. What a program implements of such traits, or of its own for such types,
/// is its own. Names of C++ have their arguments at the end, Rust's do not: `core::Engine::run()` is a
/// function of a program in C++.
fn is_rust(function: &str) -> bool {
    if function.ends_with(')') || function.ends_with(") const") {
        return false;
    }
    let Some(inner) = function.strip_prefix('<') else { return is_rust_path(function) };
    // Other languages write `<module>` and `<lambda>`.
    let Some((inner, _)) = inner.split_once(">::") else { return false };
    match inner.split_once(" as ") {
        Some((of, implemented)) => is_rust_path(implemented) && !is_of_a_program(of),
        None => is_built_in(inner) || is_rust_path(inner.strip_prefix("dyn ").unwrap_or(inner)),
    }
}

fn is_rust_path(path: &str) -> bool {
    path.split_once("::").is_some_and(|(root, _)| packages(Language::Rust).contains(&root))
}

/// A type that needs no path: `u8`, `[T]`, `*const T`.
fn is_built_in(of: &str) -> bool {
    let word = of.split(' ').next().unwrap_or(of);
    RUST_TYPES.contains(&word) || of.starts_with('[')
}

/// True for a type of a program's crate. Types without a path are built in or stand for any type.
fn is_of_a_program(of: &str) -> bool {
    let of = of.trim_start_matches(['&', '*', '[', '(', ' ']);
    let of = of.strip_prefix("mut ").unwrap_or(of);
    let root = of.split(['<', '>', ']', ')', ',', ';']).next().unwrap_or(of);
    root.contains("::") && !is_rust_path(root)
}

/// True for Go's own packages, and `golang.org/x`, which their authors keep apart.
fn is_go(function: &str) -> bool {
    if function.starts_with("golang.org/x/") || function.starts_with("go:") {
        return true;
    }
    let first = function.split(['/', '.']).next().unwrap_or(function);
    // A package of a program has its module's name before it, and `main` is not in the list.
    packages(Language::Go).contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_jvm_are_libraries_in_either_spelling() {
        for (method, expected) in [
            ("java.util.HashMap.get", CodeOrigin::Library),
            ("java/util/HashMap.get", CodeOrigin::Library),
            ("sun.nio.ch.Net.poll", CodeOrigin::Library),
            ("org.springframework.web.servlet.DispatcherServlet.doDispatch", CodeOrigin::Library),
            ("io/netty/channel/nio/NioEventLoop.run", CodeOrigin::Library),
            ("com.fasterxml.jackson.databind.ObjectMapper.readValue", CodeOrigin::Library),
            ("org.hibernate.internal.SessionImpl.find", CodeOrigin::Library),
            ("org.apache.catalina.core.StandardHostValve.invoke", CodeOrigin::Library),
            ("com.sun.net.httpserver.HttpServer.start", CodeOrigin::Library),
            ("jdk.internal.misc.Unsafe.park", CodeOrigin::Library),
            ("javac.Main.run", CodeOrigin::Own),
            ("org.example.springframework.Orders.parse", CodeOrigin::Own),
            ("java", CodeOrigin::Own),
            ("Orders.parse", CodeOrigin::Own),
        ] {
            assert_eq!(class_origin(method), expected, "{method}");
        }
    }

    #[test]
    fn standard_libraries_in_a_program_are_told_by_their_names() {
        use CodeOrigin::{Library, Own, Runtime};
        for (function, go, expected) in [
            ("parse_row", false, Own),
            ("Reader::next(int)", false, Own),
            ("_start", false, Runtime),
            ("__libc_start_main", false, Runtime),
            ("__gthread_mutex_lock", false, Runtime),
            ("_IO_new_file_write", false, Runtime),
            ("_parse", false, Own),
            ("std::vector<int, std::allocator<int> >::push_back(int&&)", false, Library),
            ("operator new(unsigned long)", false, Library),
            ("shop::main::{{closure}}", false, Own),
            ("core::ops::function::FnOnce::call_once", false, Library),
            ("<alloc::vec::Vec<shop::Row> as core::clone::Clone>::clone", false, Library),
            ("<shop::Row as core::clone::Clone>::clone", false, Own),
            ("<alloc::string::String as shop::Parse>::parse", false, Own),
            ("<str>::to_lowercase", false, Library),
            ("<u8 as core::fmt::Display>::fmt", false, Library),
            ("<std::thread::Thread>::park", false, Library),
            ("<[u8]>::sort_unstable", false, Library),
            ("<*const u8>::is_null", false, Library),
            ("<dyn core::any::Any>::is::<u8>", false, Library),
            ("<&T as core::fmt::Debug>::fmt", false, Library),
            ("core::ptr::drop_in_place<(u8, alloc::string::String)>", false, Library),
            ("<module>", false, Own),
            ("<lambda>", false, Own),
            ("<lambda(int)>::operator()", false, Own),
            ("<unnamed>::parse", false, Own),
            ("core::Engine::run()", false, Own),
            ("alloc::Pool::get(unsigned long) const", false, Own),
            ("test::Case::run(int)", false, Own),
            ("testing::run", false, Own),
            ("main.work", true, Own),
            ("main.(*Server).serve.func1", true, Own),
            ("github.com/shop/orders/store.(*DB).Get", true, Own),
            ("runtime.futex", true, Library),
            ("internal/runtime/syscall/linux.Syscall6", true, Library),
            ("net/http.(*conn).serve", true, Library),
            ("golang.org/x/text/cases.lower", true, Library),
            ("time.part.0", false, Own),
        ] {
            assert_eq!(native_origin(function, go), expected, "{function}");
        }
    }
}
