//! The places of an answer that a contract names: all that an observation keeps of it (RULES "Terms").

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use crate::{
    contract::{AddressSpec, Contract, FollowTarget, Place, Test, Then, When},
    pointer::Pointer,
};

/// What to look for in an answer, collected once from a contract.
pub(crate) struct Places {
    /// Places whose values the rules look at, and places of results.
    pub(crate) values: BTreeSet<Place>,
    /// Arrays that a rule looks into, and the pointers into their elements.
    pub(crate) arrays: BTreeMap<Pointer, BTreeSet<Pointer>>,
    /// Results and status addresses: never by value (D11, D31).
    sealed: BTreeSet<Place>,
}

impl Places {
    /// Everything that `contract` names, but error and progress texts, which an observation keeps as text.
    pub(crate) fn of(contract: &Contract) -> Places {
        let mut places = Places { values: BTreeSet::new(), arrays: BTreeMap::new(), sealed: BTreeSet::new() };
        for rule in &contract.decide {
            places.when(&rule.when);
            if let Then::Map(map) = &rule.then {
                places.values.insert(map.place.clone());
            }
        }
        for consistency in &contract.consistency {
            places.when(&consistency.when);
            places.tests(&consistency.must);
            places.tests(&consistency.must_not);
        }
        if let Some(success) = &contract.success {
            places.values.extend(success.require.iter().flatten().chain(&success.forbid).cloned());
            success.partial_if.iter().for_each(|when| places.when(when));
        }
        places.values.extend(contract.identity.iter().map(|echo| echo.place.clone()));
        places.values.extend(contract.hints.iter().map(|hint| hint.place.clone()));
        places.values.extend(contract.expiry.iter().map(|expiry| expiry.place.clone()));
        places.values.extend(contract.result.values().map(|reference| reference.place.clone()));
        places.sealed.extend(contract.result.values().map(|reference| reference.place.clone()));
        if let Some(FollowTarget::Parts(parts)) = contract.follow.as_ref().map(|follow| &follow.target) {
            places.values.extend(parts.values().cloned());
        }
        places.sealed.extend(address_places(contract).into_iter().map(|(place, _)| place.clone()));
        // D24: looked at in every answer.
        places.values.insert(Place::Header("retry-after".into()));
        places
    }

    /// The value here goes by presence and digest only.
    pub(crate) fn seals(&self, place: &Place) -> bool {
        self.sealed.contains(place)
    }

    /// The value at `inner` of some element of the array at `at` is a sealed one: a result at `/files/0/url` is the
    /// same value as `/url` of an element of `/files`.
    pub(crate) fn seals_element(&self, at: &Pointer, inner: &Pointer) -> bool {
        self.sealed.iter().any(|place| match place {
            Place::At(pointer) => match pointer.tokens().strip_prefix(at.tokens()) {
                Some([_index, rest @ ..]) => rest == inner.tokens(),
                _ => false,
            },
            Place::Header(_) => false,
        })
    }

    /// The value here may be shown as text: no sealed one is in it.
    pub(crate) fn may_show(&self, place: &Place) -> bool {
        !self.sealed.iter().any(|sealed| match (sealed, place) {
            (Place::At(sealed), Place::At(shown)) => sealed.tokens().starts_with(shown.tokens()),
            (sealed, shown) => sealed == shown,
        })
    }

    fn when(&mut self, when: &When) {
        self.tests(&when.tests);
        if let Some(array) = &when.array {
            let inner = self.arrays.entry(array.at.clone()).or_default();
            for test in &array.tests {
                if let Place::At(pointer) = &test.place {
                    inner.insert(pointer.clone());
                }
            }
        }
        self.values.extend(when.after.iter().map(|after| after.place.clone()));
        when.not.iter().for_each(|when| self.when(when));
    }

    fn tests(&mut self, tests: &[Test]) {
        self.values.extend(tests.iter().map(|test| test.place.clone()));
    }
}

/// Where an answer may name a status address (D28), and the contract in force at that address; the first one that is
/// there counts.
pub(crate) fn address_places(contract: &Contract) -> Vec<(&Place, &Contract)> {
    let mut places = Vec::new();
    if let Some(follow) = &contract.follow
        && let FollowTarget::Address(place) = &follow.target
    {
        places.push((place, follow.contract.as_deref().unwrap_or(contract)));
    }
    if let AddressSpec::From(Some(place)) = &contract.request.address {
        places.push((place, contract));
    }
    places
}
