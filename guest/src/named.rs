//! Status addresses that an answer names: taken only where the contract allows, shown only as far as they are public
//! (D28, D31).

use crate::{api::Kept, contract::Contract, digest, limits, observation::Named, url::Url};

/// What an observation says of an address, and the whole of a secret one.
pub(crate) struct Naming {
    pub(crate) named: Named,
    pub(crate) kept: Option<Kept>,
}

/// Judges the address in `text`, resolved against `base`, by `contract`: the one in force there. What is refused is
/// neither used nor kept, so the reason doesn't quote it.
pub(crate) fn name(contract: &Contract, base: Option<&Url>, text: &str) -> Naming {
    if text.len() > limits::URL_BYTES_MAX {
        return refused("it is too long");
    }
    let parsed = match base {
        Some(base) => base.resolve(text),
        None => Url::parse(text),
    };
    let Ok(url) = parsed else {
        return refused("it is not an address of a scheme and form that may be used");
    };
    let origin = url.origin();
    let Some(allowed) = contract.origins.iter().find(|allowed| allowed.origin == origin) else {
        return refused("its origin is not one of the contract's");
    };
    if !origin.starts_with("https://") && !allowed.allow_private {
        return refused("it is not encrypted, and the contract does not say `allow_private` for its origin");
    }
    let sha256 = digest::sha256_hex(url.as_str().as_bytes());
    if !is_secret(contract, &url) {
        return Naming { named: Named::Address { url: url.as_str().into(), sha256, secret: false }, kept: None };
    }
    Naming {
        named: Named::Address { url: url.without_query(), sha256: sha256.clone(), secret: true },
        kept: Some(Kept { sha256, value: url.as_str().into(), secret: true, role: "address".into() }),
    }
}

/// It was named, and can't be used.
pub(crate) fn refused(why: &str) -> Naming {
    Naming { named: Named::Refused { why: why.into() }, kept: None }
}

/// D31: some query parameter is not one that the contract lists as public.
pub(crate) fn is_secret(contract: &Contract, url: &Url) -> bool {
    url.query_names().iter().any(|name| !contract.request.query.contains(name))
}
