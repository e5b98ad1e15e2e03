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
    /// Reads the field of this index from `map`; without a map, tells whether that field may be absent.
    fn fill<A: MapAccess<'de>>(&mut self, index: usize, map: Option<&mut A>) -> Result<bool, A::Error>;
}

/// An enum whose cases have fields.
pub(crate) trait Cases<'de>: Sized {
    /// The case of this index with blank fields; the first, where there is none.
    fn case(index: usize) -> Self;

    /// Reads the fields of the case that the value is in.
    fn load<A: VariantAccess<'de>>(&mut self, access: A) -> Result<(), A::Error>;
}

/// One field, see [`Fill::fill`].
pub(crate) fn field<'de, A: MapAccess<'de>, T: Blank + Deserialize<'de>>(
    slot: &mut T,
    default: bool,
    map: Option<&mut A>,
) -> Result<bool, A::Error> {
    match map {
        Some(map) => {
            *slot = map.next_value()?;
            Ok(true)
        }
        None => Ok(default || T::OPTIONAL),
    }
}

/// Fills the fields with these names.
pub(crate) struct Fields<'v, T> {
    pub(crate) value: &'v mut T,
    pub(crate) names: &'static [&'static str],
    /// What stands here, for errors.
    pub(crate) expected: &'static str,
}

impl<'de, T: Fill<'de>> Visitor<'de> for Fields<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let value = self.value;
        members(&mut map, self.names, &mut |index, map| value.fill(index, map))
    }
}

type Filler<'f, A, E> = &'f mut dyn FnMut(usize, Option<&mut A>) -> Result<bool, E>;

fn members<'de, A: MapAccess<'de>>(
    map: &mut A,
    names: &'static [&'static str],
    fill: Filler<'_, A, A::Error>,
) -> Result<(), A::Error> {
    let mut given = [false; FIELDS_MAX];
    let mut next = 0;
    while let Some((index, name)) = map.next_key_seed(Name { names, next, of: "field" })? {
        match given.get_mut(index) {
            Some(given) if !*given => *given = true,
            _ => return Err(Error::duplicate_field(name)),
        }
        fill(index, Some(map))?;
        next = index.saturating_add(1);
    }
    for (index, name) in names.iter().enumerate() {
        if given.get(index) != Some(&true) && !fill(index, None)? {
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
            fn fill<A: serde::de::MapAccess<'de>>(
                &mut self,
                index: usize,
                map: Option<&mut A>,
            ) -> Result<bool, A::Error> {
                let $name { $($field),+ } = self;
                $crate::fill::fill_one!(index, map, $($field $(= $default)?),+)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                const NAMES: &[&str] = &[$(stringify!($field)),+];
                const { assert!(NAMES.len() <= $crate::fill::FIELDS_MAX) };
                let mut value: $name = $crate::fill::Blank::blank();
                let expected = concat!("struct ", stringify!($name));
                let fields = $crate::fill::Fields { value: &mut value, names: NAMES, expected };
                deserializer.deserialize_struct(stringify!($name), NAMES, fields)?;
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
            fn fill<A: serde::de::MapAccess<'de>>(
                &mut self,
                index: usize,
                map: Option<&mut A>,
            ) -> Result<bool, A::Error> {
                match self {
                    $($($name::$case { $($field),+ } => {
                        $crate::fill::fill_one!(index, map, $($field $(= $default)?),+)
                    })?)+
                    #[allow(unreachable_patterns, reason = "where every case has named fields")]
                    _ => {
                        let _ = (index, map);
                        Ok(true)
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

/// Of [`fields!`]: the field of this index.
macro_rules! fill_one {
    ($index:ident, $map:ident, $($field:ident $(= $default:ident)?),+) => {{
        let mut nth = 0usize;
        $(
            if $index == nth {
                return $crate::fill::field($field, false $(|| $crate::fill::$default)?, $map);
            }
            nth = nth.saturating_add(1);
        )+
        let _ = nth;
        Ok(true)
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
        $access.struct_variant(NAMES, $crate::fill::Fields { value: $self, names: NAMES, expected: $expected })
    }};
}

pub(crate) use {blank_as, cases, fields, fill_one, load_one};

#[cfg(test)]
mod tests;
