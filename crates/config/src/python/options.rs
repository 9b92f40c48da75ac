//! Options of a class of settings: `SettingsConfigDict(env_prefix="APP_", env_file=".env")`.

use super::expression::Value;

/// Options of a class of settings.
pub(super) struct Options {
    pub(super) prefix: String,
    pub(super) delimiter: Option<String>,
    pub(super) env_files: Vec<String>,
    /// Whether code makes the name of such a file.
    pub(super) has_unknown_file: bool,
    pub(super) secrets_dir: Option<String>,
    pub(super) case_sensitive: bool,
    pub(super) ignore_empty: bool,
    pub(super) extra: String,
    /// Whether the library decodes the JSON of lists and groups.
    pub(super) decodes: bool,
}

impl Options {
    /// The options of a class, those of its bases first.
    pub(super) fn new(all: &[(String, Value)]) -> Self {
        let last =
            |name: &str| all.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        let text = |name: &str| match last(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let truth = |name: &str| last(name) == Some(&Value::Truth(true));
        let env_files = match last("env_file") {
            Some(Value::Text(file) | Value::Path(file)) => vec![file.clone()],
            Some(Value::List(all)) => {
                let texts = all.iter().filter_map(|value| match value {
                    Value::Text(file) | Value::Path(file) => Some(file.clone()),
                    _ => None,
                });
                texts.collect()
            }
            _ => Vec::new(),
        };
        let has_unknown_file = match last("env_file") {
            Some(Value::Unknown) => true,
            Some(Value::List(all)) => all.contains(&Value::Unknown),
            _ => false,
        };
        Self {
            has_unknown_file,
            prefix: text("env_prefix").unwrap_or_default(),
            delimiter: text("env_nested_delimiter").filter(|text| !text.is_empty()),
            env_files,
            secrets_dir: text("secrets_dir"),
            case_sensitive: truth("case_sensitive"),
            ignore_empty: truth("env_ignore_empty"),
            decodes: last("enable_decoding") != Some(&Value::Truth(false)),
            extra: text("extra").unwrap_or_else(|| "forbid".to_owned()),
        }
    }

    /// A name of a variable in the form in which names are compared.
    pub(super) fn folded(&self, name: &str) -> String {
        if self.case_sensitive { name.to_owned() } else { name.to_lowercase() }
    }
}
