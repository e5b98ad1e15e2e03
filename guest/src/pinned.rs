//! The contract that was read last, kept with its text: an operation's calls bring the same text again and again, and
//! reading it costs more than the step itself. Nothing but time depends on it.

use alloc::{string::String, sync::Arc};

use spin::Mutex;

use crate::{api::Refusal, contract::Contract, digest, step};

/// A contract, read, and the digest of its text.
pub(crate) struct Read {
    pub(crate) contract: Contract,
    pub(crate) digest: String,
}

static LAST: Mutex<Option<(String, Arc<Read>)>> = Mutex::new(None);

/// Reads a contract that an operation is pinned to (see [`step::contract`]).
///
/// # Errors
/// `invalid_contract`.
pub(crate) fn read(text: &str) -> Result<Arc<Read>, Refusal> {
    if let Some((known, read)) = &*LAST.lock()
        && known == text
    {
        return Ok(Arc::clone(read));
    }
    let read = Arc::new(Read { contract: step::contract(text)?, digest: digest::sha256_hex(text.as_bytes()) });
    *LAST.lock() = Some((text.into(), Arc::clone(&read)));
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CONTRACT;

    #[test]
    fn another_text_is_another_contract() {
        let first = read(CONTRACT).unwrap();
        let other = CONTRACT.replace("\"Test\"", "\"Tests\"");
        assert_eq!(read(&other).unwrap().contract.provider, "Tests");
        assert_eq!(read(CONTRACT).unwrap().contract, first.contract);
        assert_ne!(read(&other).unwrap().digest, first.digest);
        assert!(read("{").is_err());
    }
}
