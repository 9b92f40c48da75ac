//! .NET Framework: the sections `appSettings` and `connectionStrings`, and the builders that fill them.
//!
//! ```text
//! web.config     <add key="a" value="1"/>          shadowed by the variable
//! builder 1      asks the environment for `P_a`    won
//! ```
//!
//! The rules are those of Microsoft.Configuration.ConfigurationBuilders (KeyValueConfigBuilder.cs,
//! SectionHandler.cs, EnvironmentConfigBuilder.cs) and of System.Configuration.

mod apply;
mod builder;
mod section;
mod unused;

use culprit_model::Text;
use rustc_hash::FxHashMap;

use crate::configuration::Configuration;
use crate::folder;
use crate::ledger::Ledger;
use crate::profile::{Builders, Profile};
use crate::provenance::{Certainty, Effective, Outcome};
use crate::sources::{Request, Root};
use crate::value::Redactor;

use section::Section;

/// The sections of a program, filled.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    sections: Vec<Section>,
    /// Variables of the environment that concern other programs.
    pub(crate) others: usize,
}

/// What a profile of the dialect says about a folder.
pub(crate) fn inspect(profile: &Profile, request: &Request, redactor: Redactor) -> Configuration {
    let mut ledger = Ledger::new(redactor);
    let settings = read(profile, request, &Root::from_request(request), &mut ledger);
    let effective = settings.effective(&ledger);
    let mut configuration = ledger.finish(profile, Vec::new(), effective);
    configuration.other_variables = settings.others;
    configuration
}

/// Reads the sections and fills them.
pub(crate) fn read(
    profile: &Profile,
    request: &Request,
    root: &Root,
    ledger: &mut Ledger,
) -> Settings {
    let Some(rules) = &profile.builders else { return Settings::default() };
    let Some(file) = rules.files.iter().find_map(|file| folder::find(root, file)) else {
        return Settings::default();
    };
    let main = section::Main::read(root, &file, ledger);
    let mut settings = Settings { sections: main.sections, others: 0 };
    for at in 0..settings.sections.len() {
        let names = settings.sections[at].builders.clone();
        for name in names {
            let Some(written) = main.builders.iter().find(|builder| builder.name == name) else {
                settings.sections[at].refuse(ledger, &name);
                continue;
            };
            apply::apply(&mut settings, at, &Context { rules, request, written, root }, ledger);
        }
    }
    section::unsupported(&main.others, &main.builders, ledger);
    unused::note(&mut settings, request, rules, ledger);
    settings
}

/// What a builder is applied with.
struct Context<'a> {
    rules: &'a Builders,
    request: &'a Request,
    written: &'a builder::Written,
    root: &'a Root,
}

impl Settings {
    /// The value of a key of appSettings, and the assignment that sets it.
    pub(crate) fn app_settings<'a>(
        &'a self,
        ledger: &'a Ledger,
    ) -> impl Iterator<Item = (&'a str, &'a str, usize)> {
        self.app_sections().flat_map(|section| &section.cells).filter_map(|cell| {
            let at = cell.winner?;
            Some((cell.key.as_str(), ledger.raw(at), at))
        })
    }

    /// The value of one key of appSettings.
    fn app_setting<'a>(&self, name: &str, ledger: &'a Ledger) -> Option<&'a str> {
        let winner = self.app_sections().find_map(|section| section.find(name)?.winner);
        winner.map(|at| ledger.raw(at))
    }

    fn app_sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| section.kind.name == "appSettings")
    }

    /// The keys with what they are in the end.
    pub(crate) fn effective(&self, ledger: &Ledger) -> Vec<Effective> {
        let cells = self.sections.iter().flat_map(|section| &section.cells);
        let mut effective: Vec<Effective> = cells
            .map(|cell| Effective {
                key: Text::from(&cell.key),
                winner: cell.winner,
                chain: cell.chain.clone(),
                certainty: if cell.assumed { Certainty::Assumed } else { Certainty::Exact },
                gap: None,
            })
            .collect();
        // What nothing takes is shown with the key that it is meant for.
        let all = ledger.assignments.iter().enumerate();
        let missed: Vec<_> = all.filter(|(_, one)| one.outcome.is_never_applied()).collect();
        if missed.is_empty() {
            return effective;
        }
        let mut by_key: FxHashMap<String, usize> = FxHashMap::default();
        for (at, one) in effective.iter().enumerate() {
            by_key.entry(one.key.to_ascii_lowercase()).or_insert(at);
        }
        for (at, one) in missed {
            let place = *by_key.entry(one.key.to_ascii_lowercase()).or_insert_with(|| {
                effective.push(Effective {
                    key: one.key.clone(),
                    winner: None,
                    chain: Vec::new(),
                    certainty: Certainty::Exact,
                    gap: None,
                });
                effective.len() - 1
            });
            effective[place].chain.push(at);
        }
        effective
    }
}

impl Section {
    /// Marks all that a builder would fill, because the program refuses it.
    fn refuse(&mut self, ledger: &mut Ledger, builder: &str) {
        for cell in &mut self.cells {
            if let Some(at) = cell.winner.take() {
                ledger.assignments[at].outcome = Outcome::Unknown;
                ledger.assignments[at].reason = format!(
                    "`configBuilders` names `{builder}`, and no builder has this name: the program \
                     does not start"
                );
            }
        }
    }
}
