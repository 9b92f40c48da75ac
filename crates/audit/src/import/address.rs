//! Hashes of addresses and visitors.

use std::hash::Hasher as _;

use sha2::{Digest as _, Sha256};
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// Hashes with a key. Without the key of `--hash-ip`, addresses are stored as they are and the
/// hashes serve as keys only.
#[derive(Debug, Clone)]
pub(crate) struct AddressHasher {
    hasher: SipHasher13,
    /// What the store keeps to know the key again.
    proof: Option<String>,
}

impl AddressHasher {
    pub(crate) fn new(key: Option<&str>) -> Self {
        let Some(key) = key else { return Self { hasher: SipHasher13::new(), proof: None } };
        let digest = Sha256::digest(key.as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        // The other half, hashed again: the key of the hashes does not follow from it.
        let proof = Sha256::digest(&digest[16..]);
        let proof = proof.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { hasher: SipHasher13::new_with_key(&half), proof: Some(proof) }
    }

    /// True when addresses must not be stored as they are.
    pub(crate) fn is_keyed(&self) -> bool {
        self.proof.is_some()
    }

    pub(crate) fn proof(&self) -> Option<&str> {
        self.proof.as_deref()
    }

    pub(crate) fn hash(&self, text: &str) -> u64 {
        self.hash128(&[text.as_bytes()])[0]
    }

    /// A hash of several texts.
    pub(crate) fn hash128(&self, parts: &[&[u8]]) -> [u64; 2] {
        let mut hasher = self.hasher;
        for part in parts {
            hasher.write(part);
            // So that two divisions of one text differ.
            hasher.write(&(part.len() as u64).to_le_bytes());
        }
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_decides_the_hash() {
        let hash = |key| AddressHasher::new(key).hash("203.0.113.7");
        assert_eq!(hash(Some("a")), hash(Some("a")));
        assert_ne!(hash(Some("a")), hash(Some("b")));
        assert_ne!(hash(Some("a")), hash(None));
        let hasher = AddressHasher::new(None);
        assert_ne!(hasher.hash128(&[b"ab", b"c"]), hasher.hash128(&[b"a", b"bc"]));
    }
}
