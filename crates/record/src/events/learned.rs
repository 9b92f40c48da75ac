//! What dumps teach of the user frames of switches that look alike.
//!
//! A dump that reaches the thread's root teaches more than one that ends early. When frames come back that a
//! generation before had, two callers take turns, and nobody knows which one a switch without a dump had. Such
//! dumps teach nothing, but where the frame pointers led to no code they teach what they have in common:
//!
//! ```text
//! frame pointers   open < ?
//! dumps            open < uv_fs_open < openSync (interpreted) < store < load < main
//!                  open < uv_fs_open < openSync (compiled)    < store < load < main
//! together         open < uv_fs_open < ? < store < load < main
//! ```

use crate::enrich::managed::ManagedCode;
use crate::events::stacks::{NOWHERE, Reach, UnwoundFrames};

/// What is known of the true user frames.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Learned {
    #[default]
    Nothing,
    Chain {
        user: Box<[u64]>,
        /// They reach the thread's root.
        whole: bool,
    },
    /// Dumps that disagree: the innermost frames that all of them have, and the outermost.
    Contradiction { inner: Box<[u64]>, outer: Box<[u64]> },
}

impl Learned {
    /// What is known with another dump.
    pub(crate) fn merge(self, unwound: &UnwoundFrames) -> Self {
        let UnwoundFrames { chain, reach } = unwound;
        let is_whole = *reach == Reach::Root;
        let new = || Self::Chain { user: chain.as_slice().into(), whole: is_whole };
        let (user, whole) = match self {
            Self::Nothing => return new(),
            Self::Chain { user, whole } => (user, whole),
            Self::Contradiction { inner, outer } => {
                return Self::Contradiction {
                    inner: same_start(&inner, chain).into(),
                    outer: same_end(&outer, chain).into(),
                };
            }
        };
        // One of two was copied before the runtime's frames were known, or ended early.
        let ranks = [(has_sites(&user), has_sites(chain)), (whole, is_whole)];
        let longer = (!whole && user.starts_with(chain), !whole && chain.starts_with(&user));
        match ranks.into_iter().chain([longer]).find(|(known, new)| known != new) {
            Some((true, _)) => Self::Chain { user, whole },
            Some((false, _)) => new(),
            None if *user == **chain => Self::Chain { user, whole },
            None => {
                let inner = same_start(&user, chain);
                let outer = if whole { same_end(&user[inner.len()..], chain) } else { &[] };
                Self::Contradiction { inner: inner.into(), outer: outer.into() }
            }
        }
    }

    /// Whether these are all frames, and others than all those that are known.
    pub(crate) fn is_another(&self, UnwoundFrames { chain, reach }: &UnwoundFrames) -> bool {
        match self {
            Self::Chain { user, whole: true } => {
                *reach == Reach::Root && has_sites(user) == has_sites(chain) && **user != **chain
            }
            _ => false,
        }
    }

    pub(crate) fn has(&self, chain: &[u64]) -> bool {
        matches!(self, Self::Chain { user, .. } if **user == *chain)
    }

    /// Whether another dump could tell more.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Chain { whole: true, .. } | Self::Contradiction { .. })
    }

    /// The user frames where frame pointers know `known`; none where nothing was learnt.
    pub(crate) fn frames(&self, known: &[u64]) -> Option<Vec<u64>> {
        match self {
            Self::Chain { user, .. } if *known != **user => Some(user.to_vec()),
            Self::Contradiction { inner, outer } if known.last() == Some(&NOWHERE) => {
                Some([inner, [NOWHERE].as_slice(), outer].concat())
            }
            _ => None,
        }
    }
}

/// What two chains begin with.
fn same_start<'a>(one: &'a [u64], other: &[u64]) -> &'a [u64] {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    &one[..same]
}

/// What two chains end with.
fn same_end<'a>(one: &'a [u64], other: &[u64]) -> &'a [u64] {
    let ends = one.iter().rev().zip(other.iter().rev());
    let same = ends.take_while(|(one, other)| one == other).count();
    &one[one.len() - same..]
}

/// Whether frames of a chain are known by more than their addresses.
fn has_sites(chain: &[u64]) -> bool {
    ManagedCode::has_sites(chain)
}
