//! A cursor over JSON text that names every fault at its pointer and goes on: wrong types, unknown, missing and doubled
//! members. It works on the raw text, so that a number keeps its own digits and a sample's body its own bytes.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use serde_json::value::RawValue;

use super::{
    faults::{Faults, child},
    near,
};
use crate::{
    limits::{JSON_DEPTH_MAX, LIST_MAX},
    reader,
};

/// One value of the text: what reads it gives `None` where it recorded a fault.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    faults: &'a Faults,
    /// The whole text; a value's pointer is looked for only where there is a fault.
    root: reader::Node<'a>,
    value: reader::Node<'a>,
    depth: usize,
}

impl<'a> Node<'a> {
    /// The whole text, which must be one JSON value.
    pub(super) fn root(text: &'a str, faults: &'a Faults) -> Option<Node<'a>> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => {
                let root = reader::Node::of(raw);
                Some(Node { faults, root, value: root, depth: 0 })
            }
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                faults.add("", format!("not JSON at line {line}, column {column}"));
                None
            }
        }
    }

    /// Records a fault at this value and has nothing to give.
    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Option<T> {
        self.note(message);
        None
    }

    /// Records a fault at this value; what was read still counts.
    pub(super) fn note(&self, message: impl Into<String>) {
        if !self.faults.is_full() {
            self.faults.add(&self.pointer(), message);
        }
    }

    /// Where it stands (RFC 6901).
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        let mut around = self.root;
        while let Some((token, inner)) = around.towards(self.value) {
            pointer = child(&pointer, token);
            around = inner;
        }
        pointer
    }

    /// The value's own text.
    pub(super) fn raw(&self) -> &'a str {
        self.value.raw()
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.raw().bytes().next() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a text",
            Some(b't' | b'f') => "true or false",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    fn wrong<T>(&self, wanted: &str) -> Option<T> {
        self.fault(format!("must be {wanted}, is {}", self.kind()))
    }

    fn below(&self, value: reader::Node<'a>) -> Node<'a> {
        Node { value, depth: self.depth.saturating_add(1), ..*self }
    }

    pub(super) fn is_object(&self) -> bool {
        self.raw().starts_with('{')
    }

    pub(super) fn is_list(&self) -> bool {
        self.raw().starts_with('[')
    }

    pub(super) fn is_text(&self) -> bool {
        self.raw().starts_with('"')
    }

    pub(super) fn is_number(&self) -> bool {
        self.raw().starts_with(|c: char| c == '-' || c.is_ascii_digit())
    }

    pub(super) fn is_null(&self) -> bool {
        self.raw() == "null"
    }

    pub(super) fn any_text(&self) -> Option<String> {
        if !self.is_text() {
            return self.wrong("a text");
        }
        match self.value.text() {
            Some(text) => Some(text),
            None => self.fault("not a Unicode text (a lone surrogate?)"),
        }
    }

    pub(super) fn bool(&self) -> Option<bool> {
        match self.raw() {
            "true" => Some(true),
            "false" => Some(false),
            _ => self.wrong("true or false"),
        }
    }

    /// A whole number from 0 to `max`.
    pub(super) fn whole(&self, max: u64) -> Option<u64> {
        if !self.is_number() {
            return self.wrong("a whole number");
        }
        match self.raw().parse() {
            Ok(number) if number <= max => Some(number),
            _ => self.fault(format!("must be a whole number from 0 to {max}")),
        }
    }

    /// A whole number, which may be negative.
    pub(super) fn integer(&self) -> Option<i64> {
        if !self.is_number() {
            return self.wrong("a whole number");
        }
        match self.raw().parse() {
            Ok(number) => Some(number),
            Err(_) => self.fault("must be a whole number of 64 bits"),
        }
    }

    /// Each element read; `None` where one was at fault.
    pub(super) fn list<T>(&self, read: impl Fn(&Node<'a>) -> Option<T>) -> Option<Vec<T>> {
        let elements = self.elements()?;
        let mut out = Vec::with_capacity(elements.len());
        let mut whole = true;
        for element in &elements {
            match read(element) {
                Some(value) => out.push(value),
                None => whole = false,
            }
        }
        whole.then_some(out)
    }

    fn elements(&self) -> Option<Vec<Node<'a>>> {
        if !self.is_list() {
            return self.wrong("a list");
        }
        let Ok(items) = self.value.items(usize::MAX) else {
            return self.fault("not a list that can be read");
        };
        self.bounded(items.len())?;
        Some(items.into_iter().map(|value| self.below(value)).collect())
    }

    fn bounded(&self, len: usize) -> Option<()> {
        if len > LIST_MAX {
            return self.fault(format!("has {len} entries, at most {LIST_MAX} are read"));
        }
        if self.depth > JSON_DEPTH_MAX {
            return self.fault(format!("is nested deeper than {JSON_DEPTH_MAX}"));
        }
        Some(())
    }

    /// The members in order; a doubled name is a fault at it, and its first value counts.
    pub(super) fn members(&self) -> Option<Vec<(String, Node<'a>)>> {
        if !self.is_object() {
            return self.wrong("an object");
        }
        let Some(members) = self.value.members() else {
            return self.fault("not an object that can be read");
        };
        self.bounded(members.len())?;
        let mut out: Vec<(String, Node<'a>)> = Vec::with_capacity(members.len());
        let mut doubled: Vec<String> = Vec::new();
        for (name, value) in members {
            let node = self.below(value);
            if out.iter().all(|(before, _)| *before != name) {
                out.push((name, node));
            } else if !doubled.contains(&name) {
                node.note(format!("the name `{name}` stands more than once"));
                doubled.push(name);
            }
        }
        Some(out)
    }

    /// A map with free names: each checked by `key`, each value read.
    pub(super) fn map<T>(
        &self,
        key: impl Fn(&Node<'a>, &str) -> Option<String>,
        read: impl Fn(&Node<'a>) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let mut whole = true;
        let mut out = BTreeMap::new();
        for (name, node) in self.members()? {
            let (key, value) = (key(&node, &name), read(&node));
            let (Some(key), Some(value)) = (key, value) else {
                whole = false;
                continue;
            };
            if out.insert(key, value).is_some() {
                whole = false;
                node.note(format!("`{name}` stands more than once, in another case"));
            }
        }
        whole.then_some(out)
    }

    /// The fields of an object with fixed names.
    pub(super) fn fields(&self) -> Option<Fields<'a>> {
        let members = self.members()?;
        Some(Fields {
            node: *self,
            members: members.into_iter().map(|(name, node)| (name, Some(node))).collect(),
            known: Vec::new(),
        })
    }
}

/// The fields of one object. Each is asked for once; [`Fields::end`] names what nobody asked for.
pub(super) struct Fields<'a> {
    node: Node<'a>,
    members: Vec<(String, Option<Node<'a>>)>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The object itself.
    pub(super) fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// The field's value, if it is there.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.known.push(name);
        self.members.iter_mut().find(|(given, _)| given == name).and_then(|(_, node)| node.take())
    }

    /// A field that must be there; `None`: a fault was recorded.
    pub(super) fn req<T>(&mut self, name: &'static str, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<T> {
        match self.take(name) {
            Some(node) => read(&node),
            None => self.lacks(name),
        }
    }

    fn lacks<T>(&self, name: &str) -> Option<T> {
        self.node.fault(format!("lacks the field `{name}`"))
    }

    /// A field that may be there; the outer `None`: a fault was recorded.
    pub(super) fn opt<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Node<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.take(name) {
            Some(node) => read(&node).map(Some),
            None => Some(None),
        }
    }

    /// A field with a default.
    pub(super) fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        read: impl FnOnce(&Node<'a>) -> Option<T>,
    ) -> Option<T> {
        self.opt(name, read).map(|given| given.unwrap_or(default))
    }

    /// A list that may be absent (then it is empty).
    pub(super) fn list<T>(&mut self, name: &'static str, read: impl Fn(&Node<'a>) -> Option<T>) -> Option<Vec<T>> {
        self.or(name, Vec::new(), |node| node.list(read))
    }

    /// Names every field that was not asked for. Such a fault spoils nothing else: the rest is still read.
    pub(super) fn end(self) {
        for (name, node) in &self.members {
            if let Some(node) = node {
                let hint = near::hint(name, &self.known);
                node.note(format!("unknown field `{name}`{hint}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn faults(text: &str, read: impl Fn(&Node<'_>)) -> Vec<String> {
        let faults = Faults::default();
        if let Some(node) = Node::root(text, &faults) {
            read(&node);
        }
        faults.into_list().into_iter().map(|f| format!("{}: {}", f.pointer, f.message)).collect()
    }

    #[test]
    fn broken_json_is_one_fault_with_its_line() {
        let list = faults("{\n  \"a\": trux\n}", |_| ());
        assert_eq!(list.len(), 1);
        assert!(list[0].starts_with(": not JSON at line 2"), "{list:?}");
    }

    #[test]
    fn a_doubled_name_is_one_fault_however_often() {
        let list = faults(r#"{"a":1,"a":2,"\u0061":3}"#, |node| {
            assert_eq!(node.members().unwrap()[0].1.raw(), "1");
        });
        assert_eq!(list, ["/a: the name `a` stands more than once"]);
    }

    #[test]
    fn unknown_fields_name_the_nearest_and_spoil_nothing() {
        let list = faults(r#"{"nam/e":1,"name":"x"}"#, |node| {
            let mut fields = node.fields().unwrap();
            assert_eq!(fields.req("name", Node::any_text).as_deref(), Some("x"));
            fields.end();
        });
        assert_eq!(list, ["/nam~1e: unknown field `nam/e`; did you mean `name`?"]);
    }

    #[test]
    fn numbers_keep_their_own_digits_and_bounds() {
        let list = faults(r#"[1e400, 1.50, 18446744073709551616]"#, |node| {
            let raw: Vec<String> = node.list(|n| Some(n.raw().to_string())).unwrap();
            assert_eq!(raw, ["1e400", "1.50", "18446744073709551616"]);
            assert_eq!(node.list(|n| n.whole(9)), None);
        });
        assert_eq!(list.len(), 3);
    }
}
