//! Reading structs and enums from JSON in little code.
//!
//! A reader that serde derives keeps each field in a local of its own and drops all of them again at every way out, once for
//! objects and once for arrays: that was more than a third of the component, which is compiled at every start. Here a
//! value starts blank and is filled in place, and one loop, the same for all types, knows what is unknown, doubled or missing.
//! What is read, and what an error says, is as derived with `deny_unknown_fields`; only an array never stands for a struct.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};
use core::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, VariantAccess, Visitor};

use crate::time::Instant;

/// Most fields that a struct or a case has.
pub(crate) const FIELDS_MAX: usize = 80;

/// Marks a field that may be absent.
pub(crate) const DEFAULT: bool = true;

/// A value to start from; never seen outside, since every field that has no default must be given.
pub(crate) trait Blank {
    /// A field of this type may be absent.
    const OPTIONAL: bool = false;

    fn blank() -> Self;
}

macro_rules! blank {
    ($([$($of:ident)*] $type:ty = $blank:expr),+ $(,)?) => { $(
        impl<$($of),*> Blank for $type {
            fn blank() -> $type {
                $blank
            }
        }
    )+ };
}

blank! {
    [] bool = false, [] u16 = 0, [] u32 = 0, [] u64 = 0, [] Instant = Instant::EPOCH,
    [] String = String::new(), [T] Vec<T> = Vec::new(), [K V] BTreeMap<K, V> = BTreeMap::new(),
}

impl<T: Blank> Blank for Box<T> {
    fn blank() -> Box<T> {
        Box::new(T::blank())
    }
}

impl<T> Blank for Option<T> {
    const OPTIONAL: bool = true;

    fn blank() -> Option<T> {
        None
    }
}

/// A struct, or the case that an enum is in.
pub(crate) trait Fill<'de> {
    /// Reads every field.
    fn fill<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;
}

/// An enum whose cases have fields.
pub(crate) trait Cases<'de>: Sized {
    /// The case of this index with blank fields; the first, where there is none.
    fn case(index: usize) -> Self;

    /// Reads the fields of the case that the value is in.
    fn load<A: VariantAccess<'de>>(&mut self, access: A) -> Result<(), A::Error>;
}

/// One field of a value that is being filled.
pub(crate) trait Slot<'de, A: MapAccess<'de>> {
    fn read(&mut self, map: &mut A) -> Result<(), A::Error>;

    fn is_optional(&self) -> bool;
}

impl<'de, A: MapAccess<'de>, T: Blank + Deserialize<'de>> Slot<'de, A> for T {
    fn read(&mut self, map: &mut A) -> Result<(), A::Error> {
        *self = map.next_value()?;
        Ok(())
    }

    fn is_optional(&self) -> bool {
        T::OPTIONAL
    }
}

/// Fills the fields of a value.
pub(crate) struct Fields<'v, T> {
    pub(crate) value: &'v mut T,
    /// What stands here, for errors.
    pub(crate) expected: &'static str,
}

impl<'de, T: Fill<'de>> Visitor<'de> for Fields<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.value.fill(map)
    }
}

/// Reads the fields of these names into these slots; those that `defaults` marks may be absent.
pub(crate) fn members<'de, A: MapAccess<'de>>(
    mut map: A,
    names: &'static [&'static str],
    defaults: &[bool],
    slots: &mut [&mut dyn Slot<'de, A>],
) -> Result<(), A::Error> {
    let mut given = [false; FIELDS_MAX];
    let mut next = 0;
    while let Some((index, name)) = map.next_key_seed(Name { names, next, of: "field" })? {
        match (given.get_mut(index), slots.get_mut(index)) {
            (Some(given), Some(slot)) if !*given => {
                *given = true;
                slot.read(&mut map)?;
            }
            _ => return Err(Error::duplicate_field(name)),
        }
        next = index.saturating_add(1);
    }
    let fields = names.iter().zip(defaults).zip(slots).zip(given);
    for (((name, default), slot), given) in fields {
        if !given && !default && !slot.is_optional() {
            return Err(Error::missing_field(name));
        }
    }
    Ok(())
}

/// One of these names, with its index.
#[derive(Clone, Copy)]
struct Name {
    names: &'static [&'static str],
    /// Where it stands if fields come in the order of `names`, as they do in canonical text.
    next: usize,
    /// `field` or `variant`.
    of: &'static str,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = (usize, &'static str);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = (usize, &'static str);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of)?;
        f.write_str(" identifier")
    }

    fn visit_str<E: Error>(self, given: &str) -> Result<Self::Value, E> {
        let likely = self.names.get(self.next).filter(|name| **name == given).map(|name| (self.next, *name));
        let find = || self.names.iter().copied().enumerate().find(|(_, name)| *name == given);
        likely.or_else(find).ok_or_else(|| match self.of {
            "field" => Error::unknown_field(given, self.names),
            _ => Error::unknown_variant(given, self.names),
        })
    }
}

/// A word of an enum without fields.
struct Word {
    names: &'static [&'static str],
    expected: &'static str,
}

impl<'de> Visitor<'de> for Word {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<usize, A::Error> {
        let ((index, _), access) = data.variant_seed(Name { names: self.names, next: 0, of: "variant" })?;
        access.unit_variant()?;
        Ok(index)
    }
}

/// The index of the word that stands here.
pub(crate) fn word<'de, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
    names: &'static [&'static str],
) -> Result<usize, D::Error> {
    deserializer.deserialize_enum(expected, names, Word { names, expected })
}

/// One of the cases with these names.
pub(crate) struct Case<'v, T> {
    pub(crate) value: &'v mut T,
    pub(crate) names: &'static [&'static str],
    pub(crate) expected: &'static str,
}

impl<'de, T: Cases<'de>> Visitor<'de> for Case<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let ((index, _), access) = data.variant_seed(Name { names: self.names, next: 0, of: "variant" })?;
        *self.value = T::case(index);
        self.value.load(access)
    }
}

/// Makes structs readable: `fields! { Struct { field, other = DEFAULT } }` names every field; one with `= DEFAULT`, and
/// every `Option`, may be absent.
macro_rules! fields {
    ($($name:ident { $($field:ident $(= $default:ident)?),+ $(,)? })+) => { $(
        impl $crate::fill::Blank for $name {
            fn blank() -> $name {
                $name { $($field: $crate::fill::Blank::blank()),+ }
            }
        }

        impl<'de> $crate::fill::Fill<'de> for $name {
            fn fill<A: serde::de::MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
                let $name { $($field),+ } = self;
                $crate::fill::fill_all!(map, $($field $(= $default)?),+)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let mut value: $name = $crate::fill::Blank::blank();
                let expected = concat!("struct ", stringify!($name));
                // Not `deserialize_struct`, which takes arrays too.
                deserializer.deserialize_map($crate::fill::Fields { value: &mut value, expected })?;
                Ok(value)
            }
        }
    )+ };
}

/// Makes enums readable: `cases! { Enum { "unit" => Unit, "pair" => Pair { a, b }, "one" => One(value) } }` names every case.
macro_rules! cases {
    ($($name:ident { $(
        $text:literal => $case:ident $(($value:ident))? $({ $($field:ident $(= $default:ident)?),+ })?
    ),+ $(,)? })+) => { $(
        impl $crate::fill::Blank for $name {
            fn blank() -> $name {
                <$name as $crate::fill::Cases<'_>>::case(0)
            }
        }

        impl<'de> $crate::fill::Fill<'de> for $name {
            fn fill<A: serde::de::MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
                match self {
                    $($($name::$case { $($field),+ } => {
                        $crate::fill::fill_all!(map, $($field $(= $default)?),+)
                    })?)+
                    #[allow(unreachable_patterns, reason = "where every case has named fields")]
                    _ => {
                        drop(map);
                        Ok(())
                    }
                }
            }
        }

        impl<'de> $crate::fill::Cases<'de> for $name {
            fn case(index: usize) -> $name {
                let mut nth = 0usize;
                $(
                    if index == nth {
                        return $name::$case
                            $(($crate::fill::blank_as!($value)))?
                            $({ $($field: $crate::fill::Blank::blank()),+ })?;
                    }
                    nth = nth.saturating_add(1);
                )+
                let _ = nth;
                <$name as $crate::fill::Cases<'_>>::case(0)
            }

            fn load<A: serde::de::VariantAccess<'de>>(&mut self, access: A) -> Result<(), A::Error> {
                match self {
                    $($name::$case $(($value))? $({ $($field: _),+ })? => {
                        let expected = concat!("struct variant ", stringify!($name), "::", stringify!($case));
                        $crate::fill::load_one!(self, access, expected $(, ($value))? $(, { $($field),+ })?)
                    })+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                const NAMES: &[&str] = &[$($text),+];
                let mut value: $name = $crate::fill::Blank::blank();
                let expected = concat!("enum ", stringify!($name));
                let case = $crate::fill::Case { value: &mut value, names: NAMES, expected };
                deserializer.deserialize_enum(stringify!($name), NAMES, case)?;
                Ok(value)
            }
        }
    )+ };
}

/// Of [`fields!`]: reads `map` into these fields.
macro_rules! fill_all {
    ($map:ident, $($field:ident $(= $default:ident)?),+) => {{
        const NAMES: &[&str] = &[$(stringify!($field)),+];
        const DEFAULTS: &[bool] = &[$(false $(|| $crate::fill::$default)?),+];
        const { assert!(NAMES.len() <= $crate::fill::FIELDS_MAX) };
        $crate::fill::members($map, NAMES, DEFAULTS, &mut [$($field as &mut dyn $crate::fill::Slot<'_, _>),+])
    }};
}

/// Of [`cases!`]: a blank for a case's only value.
macro_rules! blank_as {
    ($value:ident) => {
        $crate::fill::Blank::blank()
    };
}

/// Of [`cases!`]: what the case holds.
macro_rules! load_one {
    ($self:ident, $access:ident, $expected:ident) => {{
        let _ = $expected;
        $access.unit_variant()
    }};
    ($self:ident, $access:ident, $expected:ident, ($value:ident)) => {{
        let _ = $expected;
        *$value = $access.newtype_variant()?;
        Ok(())
    }};
    ($self:ident, $access:ident, $expected:ident, { $($field:ident),+ }) => {{
        const NAMES: &[&str] = &[$(stringify!($field)),+];
        $access.struct_variant(NAMES, $crate::fill::Fields { value: $self, expected: $expected })
    }};
}

pub(crate) use {blank_as, cases, fields, fill_all, load_one};

#[cfg(test)]
mod tests;
