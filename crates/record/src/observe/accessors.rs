//! Functions through which a language's own interface asks `getenv`.
//!
//! A runtime asks for dozens of names for itself when it starts. What the program asks for comes through one
//! function, which stands on the stack of the call. Sources: src/node_env_var.cc of Node.js,
//! src/native/libs/System.Native/pal_environment.c of .NET.

use super::facts::CodeFrame;

/// How the function's name begins, and the interface.
const ACCESSORS: [(&str, &str); 3] = [
    ("node::RealEnvStore::Get", "process.env"),
    ("SystemNative_GetEnv", "Environment.GetEnvironmentVariable"),
    ("_ZNK4node12RealEnvStore3Get", "process.env"),
];

/// Frames of a stack in which the function stands: the C library and the portability layer lie above it.
const NEAREST: usize = 6;

/// The interface that a call of `getenv` comes from, if it is one.
pub(super) fn interface(stack: &[CodeFrame]) -> Option<&'static str> {
    stack.iter().take(NEAREST).find_map(|frame| {
        let known = ACCESSORS.iter().find(|(start, _)| frame.function.starts_with(start));
        known.map(|(_, interface)| *interface)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(functions: &[&str]) -> Option<&'static str> {
        let frame =
            |name: &&str| CodeFrame { function: (*name).to_owned(), ..CodeFrame::default() };
        interface(&functions.iter().map(frame).collect::<Vec<_>>())
    }

    #[test]
    fn a_call_through_the_interface_is_known_by_its_stack() {
        let node = ["getenv", "uv_os_getenv", "node::RealEnvStore::Get(char const*) const", "x"];
        assert_eq!(of(&node), Some("process.env"));
        assert_eq!(of(&["getenv", "uv_os_getenv", "node::credentials::SafeGetenv"]), None);
        assert_eq!(of(&["getenv", "node::RealEnvStore::Query(char const*) const"]), None);
    }
}
