//! Thresholds of the signals, by preset. All are printed with every result.

/// How strict the verdicts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// One rule alone: more than 500 interactions, none with more than one page.
    Classic,
    /// All signals; robots are what is certain or likely.
    #[default]
    Balanced,
    /// All signals with stronger evidence; robots are what is certain.
    Strict,
}

/// Thresholds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// R2 and R3: decimal logarithm of the chance, or standard deviations. At 6 one group in a
    /// million passes by chance; half of it would name one in a thousand.
    pub evidence: f64,
    /// R3: the least share of robots of a mixed group. Below it, differences between people's
    /// devices look the same.
    pub mixed_share: f64,
    /// R4: contacts for each interaction.
    pub contacts_each: f64,
    /// R4: interactions.
    pub contacts_from: u64,
    /// R5: coefficient of variation of the gaps. People have about 1, clocks 0.
    pub gap_variation: f64,
    /// R5: gaps that are compared.
    pub gaps_from: u64,
    /// R5: entropy of the hours. People sleep: 0.9 to 0.97 in one zone.
    pub hour_entropy: f64,
    /// R5: interactions whose hours are compared.
    pub hours_from: u64,
    /// R6: interactions without any asset.
    pub assets_from: u64,
    /// R6: share of interactions that fetch `/robots.txt`.
    pub robots_txt: f64,
    /// R8: age in years of the browser that the user agent names.
    pub browser_years: f64,
    /// R10: interactions of one contact (the vendor's advice).
    pub heavy_contact: u64,
    /// Classic: interactions.
    pub classic: u64,
    /// Trusted interactions that the single-page rate needs. 100 give it within 0.09.
    pub baseline_from: u64,
}

impl Preset {
    /// Its thresholds.
    #[must_use]
    pub fn thresholds(self) -> Thresholds {
        let balanced = Thresholds {
            evidence: 6.0,
            mixed_share: 0.2,
            contacts_each: 0.99,
            contacts_from: 200,
            gap_variation: 0.1,
            gaps_from: 20,
            hour_entropy: 0.99,
            hours_from: 500,
            assets_from: 20,
            robots_txt: 0.2,
            browser_years: 5.0,
            heavy_contact: 1000,
            classic: 500,
            baseline_from: 100,
        };
        match self {
            Self::Classic | Self::Balanced => balanced,
            Self::Strict => Thresholds {
                evidence: 9.0,
                mixed_share: 0.3,
                gap_variation: 0.05,
                hour_entropy: 0.995,
                ..balanced
            },
        }
    }

    /// Its name, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        }
    }
}

impl Thresholds {
    /// Name and value of each.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, f64)> {
        use super::formulas::float;
        vec![
            ("evidence", self.evidence),
            ("mixed_share", self.mixed_share),
            ("contacts_each", self.contacts_each),
            ("contacts_from", float(self.contacts_from)),
            ("gap_variation", self.gap_variation),
            ("gaps_from", float(self.gaps_from)),
            ("hour_entropy", self.hour_entropy),
            ("hours_from", float(self.hours_from)),
            ("assets_from", float(self.assets_from)),
            ("robots_txt", self.robots_txt),
            ("browser_years", self.browser_years),
            ("heavy_contact", float(self.heavy_contact)),
            ("classic", float(self.classic)),
            ("baseline_from", float(self.baseline_from)),
        ]
    }
}
