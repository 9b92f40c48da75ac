//! Keys as the profile writes and compares them, and the variables that set them.

use crate::profile::{Case, ListStyle, Profile};
use crate::readers::Segment;

/// The key of a path, as the profile writes it.
pub(crate) fn key_of(profile: &Profile, path: &[Segment]) -> String {
    let mut key = String::new();
    for segment in path {
        let name = match segment {
            Segment::Index(at) if profile.keys.lists == ListStyle::Brackets => {
                key.push_str(&format!("[{at}]"));
                continue;
            }
            Segment::Index(at) => at.to_string(),
            Segment::Name(name) => name.clone(),
        };
        if !key.is_empty() && !name.starts_with('[') {
            key.push_str(&profile.keys.separator);
        }
        key.push_str(&name);
    }
    key
}

/// What two spellings of one key have in common.
pub(crate) fn identity(profile: &Profile, key: &str) -> String {
    match profile.keys.case {
        Case::Sensitive => key.to_owned(),
        Case::Insensitive => key.to_lowercase(),
        Case::Relaxed => relaxed(key),
    }
}

/// Spring's uniform form: letters and digits of each element in lower case; what stands in brackets is
/// kept.
fn relaxed(key: &str) -> String {
    let mut uniform = String::with_capacity(key.len());
    let mut in_brackets = false;
    for c in key.chars() {
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ if in_brackets => {}
            '.' => {}
            c if c.is_alphanumeric() => {
                uniform.extend(c.to_lowercase());
                continue;
            }
            _ => continue,
        }
        uniform.push(c);
    }
    uniform
}

/// The letters and digits of a key in lower case.
pub(crate) fn bare(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The names of variables that set a key by relaxed binding, in lower case: dashes left out, as
/// `SystemEnvironmentPropertyMapper` documents it, or as underscores, its form of earlier versions.
pub(crate) fn relaxed_variables(key: &str) -> [String; 2] {
    let mut dashed = String::new();
    let mut small = false;
    for c in key.chars() {
        // `maxSize` in a file binds to the property that is written `max-size`.
        if c.is_uppercase() && small {
            dashed.push('-');
        }
        small = c.is_lowercase() || c.is_ascii_digit();
        dashed.extend(c.to_lowercase());
    }
    let joined = |dash: &str| dashed.replace('-', dash).replace(['.', '['], "_").replace(']', "");
    [joined(""), joined("_")]
}

/// How strong a variable is among those of one environment that set a key by relaxed binding: Spring asks for the name
/// without dashes first, then for the one with underscores, both in capitals. Other spellings it takes only where
/// neither is set.
pub(crate) fn relaxed_rank(key: &str, variable: &str) -> usize {
    let asked = relaxed_variables(key).map(|name| name.to_uppercase());
    asked.iter().position(|name| name == variable).map_or(0, |at| asked.len() - at)
}

/// The list of which a key is an element: `a.b` of `a.b[0]`; none of other keys.
pub(super) fn list_of(key: &str) -> Option<&str> {
    let (list, number) = key.strip_suffix(']')?.rsplit_once('[')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_spring_key_are_one() {
        for key in ["my.main-project.person[0].first-name", "my.mainProject.person[0].firstName"] {
            assert_eq!(relaxed(key), "my.mainproject.person[0].firstname");
        }
        assert_eq!(relaxed("map[a.B-c]"), "map[a.B-c]");
    }

    #[test]
    fn the_variable_without_dashes_is_the_strongest() {
        let rank = |name| relaxed_rank("shop.tax-rate", name);
        assert_eq!(["SHOP_TAXRATE", "SHOP_TAX_RATE", "shop_taxrate"].map(rank), [2, 1, 0]);
    }

    #[test]
    fn variables_of_a_spring_key_are_as_documented() {
        // https://docs.spring.io/spring-boot/reference/features/external-config.html, "Binding From
        // Environment Variables".
        assert_eq!(
            relaxed_variables("spring.main.log-startup-info")[0],
            "spring_main_logstartupinfo"
        );
        assert_eq!(relaxed_variables("my.service[0].other")[0], "my_service_0_other");
        assert_eq!(relaxed_variables("server.maxHttpSize")[1], "server_max_http_size");
    }
}
