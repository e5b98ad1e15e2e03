//! The list that faults are collected in.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{cell::Cell, fmt};

use crate::{api::Fault, limits::FAULTS_MAX};

/// Collects faults, up to [`FAULTS_MAX`].
#[derive(Default)]
pub(in crate::contract) struct Faults {
    list: Cell<Vec<Fault>>,
}

impl Faults {
    pub(in crate::contract) fn add(&self, pointer: &str, message: impl Into<String>) {
        let mut list = self.list.take();
        if list.len() < FAULTS_MAX {
            list.push(Fault { pointer: pointer.into(), message: message.into() });
        }
        self.list.set(list);
    }

    /// No further fault is listed.
    pub(in crate::contract) fn is_full(&self) -> bool {
        let list = self.list.take();
        let full = list.len() >= FAULTS_MAX;
        self.list.set(list);
        full
    }

    pub(in crate::contract) fn into_list(self) -> Vec<Fault> {
        self.list.into_inner()
    }
}

/// Appends one reference token to a pointer (RFC 6901 section 3).
pub(in crate::contract) fn child(pointer: &str, token: impl fmt::Display) -> String {
    let token = token.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_faults_is_bounded() {
        let faults = Faults::default();
        for _ in 0..500 {
            faults.add("", "x");
        }
        assert_eq!(faults.into_list().len(), FAULTS_MAX);
    }

    #[test]
    fn tokens_are_escaped_as_rfc_6901_has_it() {
        assert_eq!(child("/a", "m~n/o"), "/a/m~0n~1o");
    }
}
