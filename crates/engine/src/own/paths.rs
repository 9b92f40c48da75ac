//! Whose code lies at a path: data about systems, package managers and runtimes.

use super::CodeOrigin;
use crate::names::{Family, Language, module, packages};

/// Folders of packages that others wrote, wherever they stand in a path. Sources: the documentation
/// of pip, npm, Composer, Bundler, Cargo, Go, Maven, Gradle and NuGet. Cargo's home has any name, the
/// folders of its two registries do not.
const PACKAGE_FOLDERS: [&str; 14] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/vendor/",
    "/gems/",
    "/.cargo/registry/",
    "/.cargo/git/",
    "/registry/src/index.crates.io-",
    "/registry/src/github.com-",
    "/cargo/git/checkouts/",
    "/pkg/mod/",
    "/.m2/repository/",
    "/.gradle/caches/",
    "/.nuget/packages/",
];

/// Folders below which the system keeps its libraries. Source: hier(7), file-hierarchy(7), and the
/// stores of Nix and Guix.
const SYSTEM_FOLDERS: [&str; 8] = [
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/usr/lib/",
    "/usr/lib32/",
    "/usr/lib64/",
    "/nix/store/",
    "/gnu/store/",
];

/// Folders below which the system keeps the libraries of runtimes that are no native code, and
/// headers, whose functions compilers put into programs.
const SHARED_FOLDERS: [&str; 8] = [
    "/usr/include/",
    "/usr/local/include/",
    "/usr/share/dotnet/",
    "/usr/share/java/",
    "/usr/share/nodejs/",
    "/usr/share/perl",
    "/usr/share/php/",
    "/usr/share/ruby",
];

/// What the base names of native modules of runtimes begin with; what may follow is a version.
/// Sources: the packages of Debian, Fedora and Alpine, and the runtimes' own archives.
const RUNTIME_PROGRAMS: [&str; 15] = [
    "python",
    "pypy",
    "node",
    "nodejs",
    "deno",
    "bun",
    "java",
    "dotnet",
    "mono",
    "mono-sgen",
    "ruby",
    "php",
    "php-fpm",
    "perl",
    "beam.smp",
];

/// What script files end in.
const SCRIPTS: [&str; 18] = [
    ".py", ".pyc", ".pyx", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".rb",
    ".php", ".pl", ".pm", ".lua", ".groovy", ".kts",
];

/// Sources of languages whose methods the JVM runs.
const JVM_SOURCES: [&str; 4] = [".java", ".kt", ".scala", ".clj"];

/// A path's last part.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A path as the kernel's maps have it, without what they add for a file that was replaced.
pub(super) fn plain(path: &str) -> &str {
    path.strip_suffix(" (deleted)").unwrap_or(path)
}

/// True for packages that others wrote.
pub(super) fn is_package(path: &str) -> bool {
    PACKAGE_FOLDERS.iter().any(|folder| path.contains(folder) || path.starts_with(&folder[1..]))
        // Go's paths without the cache's folder: `example.org/x@v1.2.3/file.go`.
        || path.contains("@v") && path.ends_with(".go")
}

/// True for files below the system's library folders.
pub(super) fn is_system(path: &str) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// True for a module whose code is a script's.
pub(super) fn is_script(path: &str) -> bool {
    SCRIPTS.iter().any(|end| path.ends_with(end))
        || ["node:", "internal/", "file://", "<"].iter().any(|start| path.starts_with(start))
        || is_evaluated(path)
}

/// True for code that a program put together itself: `(eval)` and `(eval at /app/a.rb:3)` in Ruby,
/// `/app/a.php(3) : eval()'d code` in PHP.
fn is_evaluated(path: &str) -> bool {
    path.starts_with("(eval") || path.ends_with(") : eval()'d code")
}

/// Scripts that are in a runtime's executable: those of Node.js, the frozen ones of CPython, and the
/// parts of Ruby that are written in Ruby.
const BUILT_IN_SCRIPTS: [&str; 4] = ["node:", "internal/", "<frozen ", "<internal:"];

/// Whose a script is.
pub(super) fn script_origin(path: &str) -> CodeOrigin {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let built_in = BUILT_IN_SCRIPTS.iter().any(|start| path.starts_with(start));
    let library = built_in || is_library_source(path);
    if library { CodeOrigin::Library } else { CodeOrigin::Own }
}

/// True for a source file of a standard library or of a package.
pub(super) fn is_library_source(path: &str) -> bool {
    const OF_COMPILERS: [&str; 2] = ["/rustc/", "/usr/local/go/src/"];
    is_package(path)
        || is_standard_python(path)
        || is_standard_ruby(path)
        || is_system(path)
        || SHARED_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || OF_COMPILERS.iter().any(|folder| path.starts_with(folder))
        || path.contains("/rustlib/src/rust/library/")
}

/// True below a folder `lib/python3.11`, which every CPython has for its standard library, and in the
/// archive `python311.zip`. Packages lie below it too.
pub(super) fn is_standard_python(path: &str) -> bool {
    let is_version = |rest: &str| {
        let rest = rest.strip_suffix(".zip").unwrap_or(rest);
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 't')
    };
    let is_library = |pair: &[&str]| {
        let version = pair[1].strip_prefix("python").or_else(|| pair[1].strip_prefix("pypy"));
        matches!(pair[0], "lib" | "lib32" | "lib64") && version.is_some_and(is_version)
    };
    path.split('/').collect::<Vec<_>>().windows(2).any(is_library)
}

/// True below a folder `lib/ruby/3.3.0`, which every Ruby has for its standard library, and in the
/// places beside it for packages of the system or the site.
fn is_standard_ruby(path: &str) -> bool {
    let is_version =
        |part: &str| part.contains('.') && part.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_library = |parts: &[&str]| {
        let [library, ruby, version] = parts else { return false };
        matches!(*library, "lib" | "lib64")
            && *ruby == "ruby"
            && (is_version(version) || matches!(*version, "site_ruby" | "vendor_ruby"))
    };
    path.split('/').collect::<Vec<_>>().windows(3).any(is_library)
}

/// Whose an assembly of .NET is, by its name, with or without the ending of its file.
pub(super) fn assembly_origin(name: &str) -> CodeOrigin {
    let mut known = packages(Language::Dotnet).iter();
    let is_part = |whole: &str| {
        name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if known.any(|whole| is_part(whole)) { CodeOrigin::Library } else { CodeOrigin::Own }
}

/// True for a module that is a source file of a language of the JVM: class files name it without its
/// folder.
pub(super) fn is_jvm_source(path: &str) -> bool {
    !path.contains('/') && JVM_SOURCES.iter().any(|end| path.ends_with(end))
}

/// The folder below which a runtime keeps its libraries, from the path of its executable:
/// `/opt/conda/lib/` of `/opt/conda/bin/python3.11`. None for other executables and for those of the
/// system.
pub(super) fn runtime_libraries(executable: &str) -> Option<String> {
    let (folder, name) = executable.rsplit_once('/')?;
    let root =
        folder.strip_suffix("/bin").filter(|root| root.starts_with('/') && *root != "/usr")?;
    is_runtime(name).then(|| format!("{root}/lib/"))
}

/// True for a native module that is a language runtime's, by its base name.
pub(super) fn is_runtime(name: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || ".-_tmd".contains(c));
    RUNTIME_PROGRAMS.iter().any(|program| name.strip_prefix(program).is_some_and(is_version))
        || module(name).has(Family::RuntimeModule)
}

/// True for a native module of the system, by its base name.
pub(super) fn is_system_module(name: &str) -> bool {
    module(name).has(Family::SystemModule)
}
