//! The profiles that the program brings along, one TOML file each in `profiles/`.

use super::{Profile, ProfileError};

/// Their texts; the last one is for folders that no other fits.
const TEXTS: &[&str] = &[
    include_str!("../../profiles/compose.toml"),
    include_str!("../../profiles/kubernetes.toml"),
    include_str!("../../profiles/dotnet.toml"),
    include_str!("../../profiles/aspnet-framework.toml"),
    include_str!("../../profiles/sitecore-10.toml"),
    include_str!("../../profiles/sitecore-9.toml"),
    include_str!("../../profiles/sitecore-8.toml"),
    include_str!("../../profiles/spring.toml"),
    include_str!("../../profiles/node-config.toml"),
    include_str!("../../profiles/dotenv.toml"),
    include_str!("../../profiles/next.toml"),
    include_str!("../../profiles/vite.toml"),
    include_str!("../../profiles/django.toml"),
    include_str!("../../profiles/pydantic.toml"),
    include_str!("../../profiles/git.toml"),
    include_str!("../../profiles/systemd.toml"),
    include_str!("../../profiles/generic.toml"),
];

/// The profiles of the program.
///
/// # Errors
/// Never in a tested build: a test reads them all.
pub fn stock_profiles() -> Result<Vec<Profile>, ProfileError> {
    TEXTS.iter().map(|text| Profile::parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stock_profile_is_one_and_says_where_its_rules_are_documented() {
        let profiles = stock_profiles().unwrap();
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "compose",
                "kubernetes",
                "dotnet",
                "aspnet-framework",
                "sitecore-10",
                "sitecore-9",
                "sitecore-8",
                "spring",
                "node-config",
                "dotenv",
                "next",
                "vite",
                "django",
                "pydantic",
                "git",
                "systemd",
                "generic"
            ]
        );
        for profile in &profiles {
            assert!(profile.assumed || profile.source.starts_with("https://"), "{}", profile.name);
        }
    }
}
