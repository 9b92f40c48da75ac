//! What clap says about wrong arguments, as a message and suggestions, for both programs. This file is a
//! module of both.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What is wrong, in one line.
pub(crate) fn message(error: &clap::Error) -> String {
    // Then clap prints the help, which says nothing of what is missing.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing".to_owned();
    }
    let text = error.to_string();
    let message: Vec<&str> =
        text.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
    let message = message.join(" ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}

/// What was probably meant.
pub(crate) fn suggestions(error: &clap::Error) -> impl Iterator<Item = String> {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().filter_map(|kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(format!("did you mean `{text}`?")),
        Some(ContextValue::Strings(all)) if !all.is_empty() => {
            Some(format!("did you mean `{}`?", all.join("`, `")))
        }
        _ => None,
    })
}
