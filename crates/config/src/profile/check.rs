//! Whether the parts of a profile fit together.

use super::{Dialect, Layer, Profile, placeholders};
use crate::readers::Format;

impl Profile {
    /// The first part that does not fit, in words.
    pub(super) fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err("a name has only letters, digits and `-`".to_owned());
        }
        if self.keys.separator.is_empty() {
            return Err("the separator of keys is empty".to_owned());
        }
        let is_layered = matches!(self.dialect, Dialect::Layers | Dialect::Spring);
        if is_layered && self.layers.is_empty() {
            return Err("it has no `[[layer]]`".to_owned());
        }
        // Settings that are a module have code that asks for them.
        let is_code = |layer: &Layer| layer.asks.is_some();
        let has_code = self.dialect == Dialect::PythonModule && self.layers.iter().all(is_code);
        if !is_layered && !has_code && !self.layers.is_empty() {
            return Err("only the dialects `layers` and `spring` take `[[layer]]`".to_owned());
        }
        self.check_tables()?;
        self.layers.iter().try_for_each(|layer| self.check_layer(layer))
    }

    /// Whether it has the tables of its dialect, and no others.
    fn check_tables(&self) -> Result<(), String> {
        use Dialect::{DropIns, Framework, PythonClasses, PythonModule, Sitecore};
        let tables: [(&str, bool, &[Dialect]); 5] = [
            ("builders", self.builders.is_some(), &[Framework, Sitecore]),
            ("patches", self.patches.is_some(), &[Sitecore]),
            ("drop-ins", self.drop_ins.is_some(), &[DropIns]),
            ("python-module", self.python_module.is_some(), &[PythonModule]),
            ("python-classes", self.python_classes.is_some(), &[PythonClasses]),
        ];
        for (table, is_there, dialects) in tables {
            match (is_there, dialects.contains(&self.dialect)) {
                (false, true) => return Err(format!("its dialect needs `[{table}]`")),
                (true, false) => return Err(format!("its dialect has no `[{table}]`")),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_layer(&self, layer: &Layer) -> Result<(), String> {
        let name = &layer.name;
        let variables = [
            layer.environment.is_some(),
            layer.document.is_some(),
            layer.counted.is_some(),
            layer.arguments,
            layer.asks.is_some(),
        ];
        let kinds = usize::from(!layer.files.is_empty())
            + variables.into_iter().filter(|is_set| *is_set).count();
        if kinds != 1 {
            return Err(format!(
                "layer `{name}` needs either `files` or `environment`, `document`, `counted`, \
                 `arguments` or `asks`"
            ));
        }
        let only_for = layer.only_for.iter().map(|only| only.define.as_str());
        let activated = layer.activated_by.iter().map(|by| by.define.as_str()).chain(only_for);
        let in_names = layer.files.iter().flat_map(|file| placeholders(file));
        for define in activated.chain(in_names) {
            if self.define(define).is_none() {
                return Err(format!(
                    "layer `{name}` uses `{define}`, and no `[[define]]` has this name"
                ));
            }
        }
        for file in layer.files.iter().chain(&layer.not_read) {
            if file.starts_with('/') || file.split('/').any(|part| part == "..") {
                return Err(format!("layer `{name}`: `{file}` is not below the root"));
            }
        }
        let unknown = layer.files.iter().find(|file| {
            layer.format.is_none()
                && !file.ends_with('*')
                && !layer.is_opaque(file)
                && Format::of_name(file).is_none()
        });
        match unknown {
            Some(file) => {
                Err(format!("layer `{name}`: the format of `{file}` is not known by its name"))
            }
            None => Ok(()),
        }
    }
}
