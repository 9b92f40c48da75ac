//! Functions through which a language's own interface asks `getenv`.
//!
//! A runtime asks for dozens of names for itself when it starts. What the program asks for comes through one
//! function. Where it has a name in the program, a probe on it marks the next `getenv` of the thread (`names`). Else
//! it is found on the stack of the first call of a name. Source: src/native/libs/System.Native/pal_environment.c
//! of .NET.

use super::facts::CodeFrame;

/// The interface of Node.js.
pub(super) const PROCESS_ENV: &str = "process.env";
/// That of .NET, and the function that stands on the stack.
const DOTNET: &str = "Environment.GetEnvironmentVariable";
const DOTNET_FUNCTION: &str = "SystemNative_GetEnv";

/// Frames of a stack in which the function stands: the C library lies above it.
const NEAREST: usize = 4;

/// The interface that a call of a function comes from, if it is one.
pub(super) fn interface(function: &str, stack: &[CodeFrame]) -> Option<&'static str> {
    let known = |frame: &CodeFrame| frame.function == DOTNET_FUNCTION;
    match function {
        PROCESS_ENV => Some(PROCESS_ENV),
        _ => stack.iter().take(NEAREST).any(known).then_some(DOTNET),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_through_the_interface_is_known_by_its_stack() {
        let of = |functions: &[&str]| {
            let frame =
                |name: &&str| CodeFrame { function: (*name).to_owned(), ..CodeFrame::default() };
            interface("getenv", &functions.iter().map(frame).collect::<Vec<_>>())
        };
        assert_eq!(of(&["getenv", "SystemNative_GetEnv", ""]), Some(DOTNET));
        assert_eq!(of(&["getenv", "main"]), None);
        assert_eq!(interface(PROCESS_ENV, &[]), Some(PROCESS_ENV));
    }
}
