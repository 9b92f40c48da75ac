//! The runtimes' names of generated code, taken apart: function, module, file and line.
//!
//! Each runtime writes names in a form of its own. The first form that fits is taken; a name that fits
//! none stays as it is. The recorder names frames by it, and the engine those of old recordings and of
//! other profilers' files.
//!
//! ```text
//! V8       JS:*hashRows /app/n.cjs:2:18            n.cjs!hashRows          /app/n.cjs:2
//! HotSpot  void com.shop.Orders.parse(int)         com.shop.Orders.parse
//! .NET     void [app] Orders::Parse(int32)[Tier0]  app!Orders.Parse
//! ```
//!
//! The marks of compilers' tiers are dropped: a function is the same one however it was compiled.

use std::borrow::Cow;

/// A name of generated code, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedName<'a> {
    /// The function as its source calls it.
    pub function: Cow<'a, str>,
    /// What the function is part of, where the runtime names it: a source file, an assembly. Never in
    /// brackets, which mark the kernel's modules.
    pub module: Option<&'a str>,
    /// The source file: a path, or the runtime's own name for it such as `node:fs`.
    pub file: Option<&'a str>,
    /// The line in `file` where the function begins, from 1.
    pub line: Option<u32>,
}

/// A form of names: gives none for a name of another form.
type Form = for<'a> fn(&'a str) -> Option<GeneratedName<'a>>;

/// The forms of methods: told by their shape.
const METHODS: &[Form] = &[dot_net, hot_spot, jvm_descriptor];

/// Takes a runtime's name apart.
#[must_use]
pub fn parse_generated_name(name: &str) -> GeneratedName<'_> {
    // Names of scripts are marked, so they come first.
    let found = script_name(name).or_else(|| method_name(name));
    found.unwrap_or_else(|| GeneratedName::whole(name))
}

/// Takes the name of a script's function apart; none for other names.
#[must_use]
pub fn script_name(name: &str) -> Option<GeneratedName<'_>> {
    v8(name).or_else(|| v8_pattern(name))
}

/// Takes the name of a class's method apart, with its types around it; none for other names.
#[must_use]
pub fn method_name(name: &str) -> Option<GeneratedName<'_>> {
    METHODS.iter().find_map(|form| form(name))
}

/// A Java method as `class.method`, where the name has its types around it as the maps of the JVM's
/// generated code do: `int java.lang.String.indexOf(int, int)`. None for other names: C++ has types
/// before template functions only, and `::` in their names.
#[must_use]
pub fn java_method(name: &str) -> Option<&str> {
    let before = name.strip_suffix(')')?.split_once('(')?.0;
    let (result, method) = before.split_once(' ')?;
    let is_type = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '[' | ']' | '/');
    let is_name = |c: char| is_type(c) || matches!(c, '<' | '>' | '+' | '-');
    let fits = result.chars().all(is_type)
        && method.chars().all(is_name)
        && !method.starts_with('.')
        && method.contains('.');
    fits.then_some(method)
}

impl<'a> GeneratedName<'a> {
    fn whole(name: &'a str) -> Self {
        Self { function: name.into(), module: None, file: None, line: None }
    }
}

/// The kinds of V8's code that are of a source file: V8's `src/objects/code-kind.h` and
/// `src/logging/code-events.h`. The others (`Builtin:`, `BytecodeHandler:`, `RegExp:`, `Stub:`) are the
/// runtime's own, and their names have no place.
const V8_SOURCE_KINDS: [&str; 6] =
    ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "Callback:"];

/// Marks of the compiler that V8 puts before a function's name.
const V8_TIERS: [char; 5] = ['~', '*', '^', '+', '\''];

/// `KIND:TIER NAME SOURCE:LINE:COLUMN`; the name may be empty, name and source may have blanks.
fn v8(name: &str) -> Option<GeneratedName<'_>> {
    let rest = V8_SOURCE_KINDS.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.trim_start_matches(V8_TIERS);
    let Some((before, line)) = without_position(rest) else {
        let function = if rest.is_empty() { "(anonymous)" } else { rest };
        return Some(wasm(function).unwrap_or_else(|| GeneratedName::whole(function)));
    };
    let (function, source) = split_source(before);
    let function = match function {
        "" if source.is_empty() => "(eval)",
        "" if line == 1 => "(top level)",
        "" => "(anonymous)",
        named => named,
    };
    let file = source.strip_prefix("file://").unwrap_or(source);
    let (module, file) = (Some(source_module(file)), Some(file).filter(|file| !file.is_empty()));
    let module = module.filter(|module| !module.is_empty());
    // A program that was put together at run time has lines, but no file.
    let line = file.map(|_| line);
    Some(GeneratedName { function: function.into(), module, file, line })
}

/// What stands for the file of WebAssembly, which V8 does not name.
const WASM: &str = "wasm";

/// `NAME-INDEX-COMPILER`: a function of WebAssembly. Its two compilers are marks like others.
fn wasm(name: &str) -> Option<GeneratedName<'_>> {
    let name = name.strip_suffix("-liftoff").or_else(|| name.strip_suffix("-turbofan"))?;
    let (function, index) = name.rsplit_once('-')?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let (module, file) = (Some(WASM), Some(WASM));
    is_index.then(|| GeneratedName { function: function.into(), module, file, line: None })
}

/// `RegExp.> src: '...' flags: '...'`: a pattern as newer versions of V8 write it.
fn v8_pattern(name: &str) -> Option<GeneratedName<'_>> {
    let rest = name.strip_prefix("RegExp.")?;
    let (_, rest) = rest.split_once("src: '")?;
    let (pattern, _) = rest.rsplit_once("' flags: '")?;
    let function = format!("RegExp:{pattern}").into();
    Some(GeneratedName { function, module: None, file: None, line: None })
}

/// A text without the line and column at its end, and the line.
fn without_position(text: &str) -> Option<(&str, u32)> {
    let (before, last) = text.rsplit_once(':')?;
    let last = last.parse::<u32>().ok()?;
    // Older versions write no column.
    let line =
        before.rsplit_once(':').and_then(|(before, line)| Some((before, line.parse().ok()?)));
    line.or(Some((before, last))).filter(|(_, line)| *line > 0)
}

/// How a source begins: a path, an address, a module of Node.js.
const SOURCES: [&str; 6] = [" /", " file:", " node:", " http:", " https:", " ["];

/// Function and source. A function's name has blanks in `get size`, a path may have some.
fn split_source(text: &str) -> (&str, &str) {
    let starts = SOURCES.iter().filter_map(|start| text.find(start)).min();
    let at = starts.or_else(|| text.rfind(' '));
    at.map_or((text, ""), |at| (&text[..at], &text[at + 1..]))
}

/// The part of a source that tells it from others at a glance: a file's base name, else all of it.
fn source_module(source: &str) -> &str {
    let base = if source.starts_with("node:") {
        source
    } else {
        source.rsplit('/').next().unwrap_or(source)
    };
    base.trim_matches(['[', ']'])
}

/// `[instance] TYPE [ASSEMBLY] CLASS::METHOD(TYPES)[TIER]`: .NET's `src/coreclr/vm/perfmap.cpp`.
fn dot_net(name: &str) -> Option<GeneratedName<'_>> {
    let (assembly, rest) = assembly(name)?;
    let (method, _) = rest.split_once('(')?;
    let (class, method) = method.rsplit_once("::")?;
    let class = class.replace(['+', '/'], ".");
    let function = format!("{class}.{method}").into();
    Some(GeneratedName { function, module: Some(assembly), file: None, line: None })
}

/// The first word in brackets with more words behind it, and these; the brackets of an array's type
/// stand within a word.
fn assembly(name: &str) -> Option<(&str, &str)> {
    let start = if name.starts_with('[') { 1 } else { name.find(" [")? + 2 };
    let (assembly, rest) = name.get(start..)?.split_once("] ")?;
    (!assembly.is_empty() && !assembly.contains(' ')).then_some((assembly, rest))
}

/// `TYPE CLASS.METHOD(TYPES)`: `Method::external_name` of HotSpot.
fn hot_spot(name: &str) -> Option<GeneratedName<'_>> {
    java_method(name).map(GeneratedName::whole).map(without_hidden_address)
}

/// `Lcom/shop/Orders;::parse`, as agents in the JVM write them.
fn jvm_descriptor(name: &str) -> Option<GeneratedName<'_>> {
    let (class, method) = name.strip_prefix('L')?.split_once(";::")?;
    let method = method.split('(').next().unwrap_or(method);
    let function = format!("{}.{method}", class.replace('/', ".")).into();
    Some(GeneratedName { function, module: None, file: None, line: None })
}

/// A hidden class bears its address, `Orders$$Lambda$1/0x00007f5638000400`: another one in every run.
fn without_hidden_address(name: GeneratedName<'_>) -> GeneratedName<'_> {
    let Some((class, rest)) = name.function.split_once("/0x") else { return name };
    let method = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let function = format!("{class}{method}").into();
    GeneratedName { function, ..name }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `module!function file:line`, what is unknown left out.
    fn describe(name: &str) -> String {
        let name = parse_generated_name(name);
        let module = name.module.map(|module| format!("{module}!")).unwrap_or_default();
        let file = name.file.map(|file| format!(" {file}")).unwrap_or_default();
        let line = name.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{module}{}{file}{line}", name.function)
    }

    fn check(rows: &[(&str, &str)]) {
        for (name, expected) in rows {
            assert_eq!(describe(name), *expected, "{name}");
        }
    }

    /// Lines that Node.js 18, 20, 22 and 24 wrote, and older forms.
    #[test]
    fn names_of_v8_have_a_place() {
        check(&[
            ("JS:*hashRows /tmp/n.cjs:2:18", "n.cjs!hashRows /tmp/n.cjs:2"),
            ("JS:~parse /tmp/n.cjs:3:21", "n.cjs!parse /tmp/n.cjs:3"),
            ("JS:^total /tmp/n.cjs:3:59", "n.cjs!total /tmp/n.cjs:3"),
            ("JS:+total /tmp/n.cjs:3:59", "n.cjs!total /tmp/n.cjs:3"),
            ("Eval:~ /tmp/n.cjs:1:1", "n.cjs!(top level) /tmp/n.cjs:1"),
            ("JS:~ /tmp/n.cjs:7:20", "n.cjs!(anonymous) /tmp/n.cjs:7"),
            (
                "JS:~ node:internal/main/run_main_module:1:1",
                "node:internal/main/run_main_module!(top level) node:internal/main/run_main_module:1",
            ),
            ("JS:~get size node:fs:52:36", "node:fs!get size node:fs:52"),
            (
                "JS:*add file:///app/my dir/a (copy).mjs:3:10",
                "a (copy).mjs!add /app/my dir/a (copy).mjs:3",
            ),
            ("JS:*f [eval]:1:10", "eval!f [eval]:1"),
            ("LazyCompile:~add /app/index.js:3", "index.js!add /app/index.js:3"),
            ("LazyCompile:*add app.js:3:1", "app.js!add app.js:3"),
            ("JS:~", "(anonymous)"),
            ("JS:+'set price file:///app/a.mjs:5:134", "a.mjs!set price /app/a.mjs:5"),
            ("JS:*'square /app/a.js:3:16", "a.js!square /app/a.js:3"),
            ("JS:^#secret file:///app/a.mjs:5:28", "a.mjs!#secret /app/a.mjs:5"),
            ("LazyCompile:~my func file:///app/a.mjs:4", "a.mjs!my func /app/a.mjs:4"),
            ("Script:~ file:///app/a.mjs:1:1", "a.mjs!(top level) /app/a.mjs:1"),
            (
                "Function:~<instance_members_initializer> node:internal/vm/module:258",
                "node:internal/vm/module!<instance_members_initializer> node:internal/vm/module:258",
            ),
            ("Function:~fromEval :1", "fromEval"),
            ("JS:*fromEval :1:19", "fromEval"),
            ("Function:^ :1", "(eval)"),
            ("JS:wasm-function[0]-0-turbofan", "wasm!wasm-function[0] wasm"),
            ("Function:spin-12-liftoff", "wasm!spin wasm"),
            ("JS:*turbo-12-fan", "turbo-12-fan"),
            ("JS:*alone", "alone"),
        ]);
    }

    #[test]
    fn a_runtimes_own_code_keeps_its_kind() {
        for name in [
            "Builtin:ArrayMap",
            "BytecodeHandler:Wide",
            "RegExp:a(b+)c",
            "RegExp.> src:",
            "Interpreter",
            "StubRoutines (1)",
            "I2C/C2I adapters",
            "getCPUIDBrandString_stub",
            "stub<1> GenerateResolveStub",
            "py::look_up:/app/table.py",
            "void std::sort<int*>(int*, int*)",
        ] {
            assert_eq!(describe(name), name);
        }
    }

    #[test]
    fn a_pattern_is_the_same_in_all_versions() {
        check(&[("RegExp.> src: '^(a'+)$' flags: 'g'", "RegExp:^(a'+)$")]);
    }

    /// Lines that OpenJDK 17 wrote, and an agent's form.
    #[test]
    fn names_of_java_are_class_and_method() {
        check(&[
            ("void Orders.parse(java.lang.String)", "Orders.parse"),
            (
                "int Orders$Inner.parse(java.lang.String, int[], java.lang.Object)",
                "Orders$Inner.parse",
            ),
            (
                "byte[] java.lang.StringConcatHelper.newArray(long)",
                "java.lang.StringConcatHelper.newArray",
            ),
            ("void java.lang.String.<init>(byte[], byte)", "java.lang.String.<init>"),
            ("int Orders.lambda$main$0(int)", "Orders.lambda$main$0"),
            ("int Orders$$Lambda$1/0x00007f5638000400.go(int)", "Orders$$Lambda$1.go"),
            (
                "long java.lang.invoke.LambdaForm$MH/0x00007f5638002400.invoke(java.lang.Object, int)",
                "java.lang.invoke.LambdaForm$MH.invoke",
            ),
            ("Lcom/shop/Orders;::parse", "com.shop.Orders.parse"),
        ]);
    }

    #[test]
    fn javas_types_are_no_part_of_a_methods_name() {
        for (name, method) in [
            ("int java.lang.String.indexOf(int, int)", Some("java.lang.String.indexOf")),
            ("void Main.<init>(java.lang.String[])", Some("Main.<init>")),
            ("byte[] java.util.Arrays.copyOf(byte[], int)", Some("java.util.Arrays.copyOf")),
            ("java.lang.String.indexOf", None),
            ("void std::sort<int*>(int*, int*)", None),
            ("operator new(unsigned long)", None),
            ("main.(*server).handle", None),
            ("JS:*serve file:///app/a (copy).js:3:10", None),
        ] {
            assert_eq!(java_method(name), method, "{name}");
        }
    }

    #[test]
    fn names_of_dot_net_have_an_assembly() {
        check(&[
            (
                "instance void [app] Orders::Parse(class System.String)[OptimizedTier1]",
                "app!Orders.Parse",
            ),
            ("void [app] Program::Main(string[])[QuickJitted]", "app!Program.Main"),
            (
                "int32[] [System.Private.CoreLib] System.Array::Empty()[PreJIT]",
                "System.Private.CoreLib!System.Array.Empty",
            ),
            ("instance void [app] Shop.Orders/Inner::.ctor(int32)", "app!Shop.Orders.Inner..ctor"),
            (
                "instance bool [app] Program+<Run>d__0::MoveNext()[Tier0]",
                "app!Program.<Run>d__0.MoveNext",
            ),
            ("void [App] App.Main(string[])::Run", "void [App] App.Main(string[])::Run"),
        ]);
    }

    #[test]
    fn any_text_has_a_name() {
        for name in
            ["", " ", "JS:", "JS::1", "L;::", "[", "[a] ", "[a] (", "a [", "(", ")", "é (é)"]
        {
            assert!(
                parse_generated_name(name).function.len() <= name.len().max("(anonymous)".len())
            );
        }
    }
}
