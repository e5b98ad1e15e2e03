//! Values that may not be stored in clear (D31): sealed under a key that is itself given by reference.
//!
//! ```text
//! offset  bytes
//!      0      1  version, 1
//!      1      4  key id: the first bytes of SHA-256("sondeo.key/1" key)
//!      5     24  nonce, from the operating system
//!     29    n+16  XChaCha20-Poly1305 of the value; additional data: header, operation id and digest, each with its length
//! ```
//!
//! A sealed value opens only for the operation and the digest that it was sealed for: one row can't stand in for another.

use std::fmt;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::credential::{CredentialError, CredentialRef, Secret, hmac_sha256};

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;

/// 32 random bytes that seal and open values. Wiped when dropped; `Debug` shows the id only.
pub struct Key {
    bytes: Zeroizing<[u8; KEY_BYTES]>,
    id: [u8; KEY_ID_BYTES],
}

/// A reference that led to no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It can't be read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// It holds something else: a passphrase isn't stretched into a key.
    #[error(
        "`{0}` does not hold a key: 32 random bytes are needed, as 64 hex digits or in base64 (`openssl rand -hex 32` prints such a line)"
    )]
    Form(CredentialRef),
}

/// A value that couldn't be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The operating system gave no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
    /// The value is longer than the cipher takes.
    #[error("the value is too long to be sealed")]
    TooLong,
    /// Sealed by a later version of this program.
    #[error("the value is sealed in form {0}, which this version does not know")]
    Version(u8),
    /// Sealed under another key than the one given.
    #[error("the value is sealed under key `{sealed}`, not under the key given, `{given}`")]
    WrongKey {
        /// Id of the key that it was sealed under.
        sealed: String,
        /// Id of the key given.
        given: String,
    },
    /// Changed since, cut, or sealed for another operation or digest.
    #[error("the sealed value is damaged, or belongs to another operation")]
    Damaged,
}

impl Key {
    /// Reads a key: 32 bytes as 64 hex digits, or in base64 (either alphabet, padded or not).
    pub async fn resolve(reference: &CredentialRef) -> Result<Self, KeyError> {
        let held = reference.resolve().await?;
        Self::parse(&held.value).ok_or_else(|| KeyError::Form(reference.clone()))
    }

    fn parse(text: &Secret) -> Option<Self> {
        let text = text.expose();
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        // A hex key has 64 digits, a base64 one 43 or 44: neither can be taken for the other.
        let hex = hex::decode_to_slice(text, bytes.as_mut_slice()).is_ok();
        (hex || decode_base64(text, &mut bytes)).then(|| Self::new(bytes))
    }

    fn new(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Self {
        let mut digest = Sha256::new_with_prefix(b"sondeo.key/1");
        digest.update(bytes.as_slice());
        let [a, b, c, d, ..]: [u8; 32] = digest.finalize().into();
        Self { bytes, id: [a, b, c, d] }
    }

    /// The key's id, 8 hex digits: names the key without telling it.
    pub fn id(&self) -> String {
        hex::encode(self.id)
    }

    /// The key to digest credentials with (D13): derived, so that one key does one thing.
    pub fn for_digests(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(hmac_sha256(&self.bytes, &[b"sondeo.digest-key/1"]))
    }

    /// Seals `value` for one operation. `sha256` is the digest by which the record names the value, as it stands there.
    pub fn seal(&self, operation_id: &str, sha256: &str, value: &Secret) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| SealError::Random(error.to_string()))?;
        let payload = Payload { msg: value.expose().as_bytes(), aad: &associated(self.id, operation_id, sha256) };
        let encrypted = self.cipher().encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::TooLong)?;
        let mut sealed = header(self.id).to_vec();
        sealed.extend(nonce);
        sealed.extend(encrypted);
        Ok(sealed)
    }

    /// Opens what [`Key::seal`] made for the same operation and digest.
    pub fn open(&self, operation_id: &str, sha256: &str, sealed: &[u8]) -> Result<Secret, SealError> {
        let (version, rest) = sealed.split_first().ok_or(SealError::Damaged)?;
        if *version != VERSION {
            return Err(SealError::Version(*version));
        }
        let (id, rest) = rest.split_first_chunk::<KEY_ID_BYTES>().ok_or(SealError::Damaged)?;
        if *id != self.id {
            return Err(SealError::WrongKey { sealed: hex::encode(id), given: self.id() });
        }
        let (nonce, encrypted) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::Damaged)?;
        let payload = Payload { msg: encrypted, aad: &associated(self.id, operation_id, sha256) };
        let opened = self
            .cipher()
            .decrypt(&XNonce::from(*nonce), payload)
            .map(Zeroizing::new)
            .map_err(|_| SealError::Damaged)?;
        let text = std::str::from_utf8(&opened).map_err(|_| SealError::Damaged)?;
        Ok(Secret::new(text.to_owned()))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id())
    }
}

fn decode_base64(text: &str, bytes: &mut [u8; KEY_BYTES]) -> bool {
    const FORGIVING: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    [base64::alphabet::STANDARD, base64::alphabet::URL_SAFE].iter().any(|alphabet| {
        let engine = GeneralPurpose::new(alphabet, FORGIVING);
        // The decoder may want more room than it fills in the end.
        let mut room = Zeroizing::new([0; 2 * KEY_BYTES]);
        match engine.decode_slice(text, room.as_mut_slice()) {
            Ok(KEY_BYTES) => {
                bytes.iter_mut().zip(room.iter()).for_each(|(to, from)| *to = *from);
                true
            }
            _ => false,
        }
    })
}

fn header(id: [u8; KEY_ID_BYTES]) -> [u8; 1 + KEY_ID_BYTES] {
    let [a, b, c, d] = id;
    [VERSION, a, b, c, d]
}

/// The header, and what the value is bound to; each part has its length before it, so that no two pairs make one text.
fn associated(id: [u8; KEY_ID_BYTES], operation_id: &str, sha256: &str) -> Vec<u8> {
    let mut data = b"sondeo.sealed/1\0".to_vec();
    data.extend(header(id));
    for part in [operation_id, sha256] {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        data.extend(length.to_be_bytes());
        data.extend(part.as_bytes());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const CANARY: &str = "https://files.example.com/r?sig=canary-77";
    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn key(text: &str) -> Key {
        Key::parse(&secret(text)).unwrap()
    }

    fn sealed() -> Vec<u8> {
        key(HEX).seal("op-1", "ab12", &secret(CANARY)).unwrap()
    }

    #[test]
    fn d31_what_was_sealed_opens_for_the_same_operation_and_digest_only() {
        let sealed = sealed();
        let open = |operation, digest| key(HEX).open(operation, digest, &sealed);
        assert_eq!(open("op-1", "ab12").unwrap().expose(), CANARY);
        for (operation, digest) in [("op-2", "ab12"), ("op-1", "ab13"), ("op-1a", "b12"), ("", "")] {
            assert_eq!(open(operation, digest).unwrap_err(), SealError::Damaged);
        }
    }

    #[test]
    fn d31_every_changed_or_missing_byte_is_found() {
        let sealed = sealed();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let error = key(HEX).open("op-1", "ab12", &changed).unwrap_err();
            match at {
                0 => assert_eq!(error, SealError::Version(0)),
                1..=4 => assert!(matches!(error, SealError::WrongKey { .. })),
                _ => assert_eq!(error, SealError::Damaged),
            }
            let cut = key(HEX).open("op-1", "ab12", &sealed[..at]).unwrap_err();
            assert_eq!(cut, SealError::Damaged);
        }
    }

    #[test]
    fn d31_a_wrong_key_is_told_apart_from_damage_and_named() {
        let other = key(&HEX.replace("1f", "2f"));
        let error = other.open("op-1", "ab12", &sealed()).unwrap_err();
        let SealError::WrongKey { sealed, given } = &error else {
            panic!("{error:?}");
        };
        assert_eq!((sealed, given), (&key(HEX).id(), &other.id()));
        assert_eq!(sealed.len(), 8);
    }

    #[test]
    fn i18_a_sealed_value_shows_nothing_and_no_two_are_alike() {
        let (one, two) = (sealed(), sealed());
        assert_ne!(one, two);
        assert_ne!(one[5..29], two[5..29]);
        for part in ["canary", "example", "op-1"] {
            assert!(!one.windows(part.len()).any(|w| w == part.as_bytes()));
        }
        assert_eq!(one.len(), 1 + 4 + 24 + CANARY.len() + 16);
        assert_eq!(format!("{:?}", key(HEX)), format!("Key({})", key(HEX).id()));
    }

    /// A value sealed once and for all: stores keep such bytes, so every later version must open them. Made with another
    /// implementation (Python's PyNaCl).
    #[test]
    fn d31_sealed_values_of_the_first_version_stay_readable() {
        let sealed = hex::decode(GOLDEN).unwrap();
        assert_eq!(key(HEX).open("op-1", "ab12", &sealed).unwrap().expose(), CANARY);
    }

    const GOLDEN: &str = "01a026cac26465666768696a6b6c6d6e6f707172737475767778797a7b14078dc08c14a6ade159f15ad541d8b13ad6221d8102a9dfe17a169858371f2dc8672d1f5ecfdaf0ddd53a75903b7f7a87404560b17772fc53";

    #[test]
    fn a_key_is_32_bytes_in_hex_or_base64() {
        let same = [
            HEX.to_owned(),
            HEX.to_uppercase(),
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned(),
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".to_owned(),
        ];
        for text in same {
            assert_eq!(key(&text).id(), key(HEX).id(), "{text}");
        }
        let standard = key("//////////////////////////////////////////8=");
        let url_safe = key("__________________________________________8");
        assert_eq!(standard.id(), url_safe.id());
        let short = &HEX[2..];
        let long = format!("{HEX}00");
        for bad in [
            "correct horse battery staple",
            short,
            &long,
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g",
            "",
        ] {
            assert!(Key::parse(&secret(bad)).is_none(), "{bad}");
        }
    }

    #[test]
    fn keys_for_other_uses_differ_from_the_sealing_key() {
        let derived = key(HEX).for_digests();
        assert_ne!(hex::encode(derived.as_slice()), HEX);
        assert_eq!(derived, key(HEX).for_digests());
        assert_ne!(derived, key(&HEX.replace("1f", "2f")).for_digests());
    }

    #[tokio::test]
    async fn i18_a_passphrase_is_refused_naming_what_is_needed_and_not_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let reference: CredentialRef = format!("file:{}", path.display()).parse().unwrap();
        let missing = Key::resolve(&reference).await.unwrap_err();
        assert!(matches!(missing, KeyError::Credential(_)));
        fs::write(&path, "canary-77 horse battery staple\n").unwrap();
        let error = Key::resolve(&reference).await.unwrap_err().to_string();
        assert!(error.contains(reference.as_str()) && error.contains("32 random bytes"));
        assert!(!error.contains("canary"));
        fs::write(&path, format!("{HEX}\n")).unwrap();
        let read = Key::resolve(&reference).await.unwrap();
        assert_eq!(read.id(), key(HEX).id());
    }
}
