use alloc::{format, string::ToString};

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq)]
struct Outer {
    number: u32,
    text: Option<String>,
    list: Vec<String>,
    inner: Inner,
}

#[derive(Debug, PartialEq)]
enum Inner {
    Unit,
    One(u64),
    Pair { left: bool, right: bool },
}

fields! {
    Outer { number, text, list = DEFAULT, inner }
}

cases! {
    Inner { "unit" => Unit, "one" => One(value), "pair" => Pair { left, right = DEFAULT } }
}

/// The same types, as serde derives them.
mod derived {
    use super::{String, Vec};

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Outer {
        number: u32,
        text: Option<String>,
        #[serde(default)]
        list: Vec<String>,
        inner: Inner,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub(super) enum Inner {
        Unit,
        One(u64),
        Pair {
            left: bool,
            #[serde(default)]
            right: bool,
        },
    }
}

fn read<'a, T: Deserialize<'a> + fmt::Debug>(text: &'a str) -> String {
    match serde_json::from_str::<T>(text) {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_read_and_what_an_error_says_is_as_derived() {
    for text in [
        r#"{"number":1,"text":"a","list":["b"],"inner":{"pair":{"left":true,"right":true}}}"#,
        r#"{"inner":"unit","number":4294967295}"#,
        r#"{"inner":{"unit":null},"number":1}"#,
        r#"{"inner":{"one":18446744073709551615},"number":1,"text":null}"#,
        r#"{"inner":{"pair":{"left":true}},"number":1,"\u0074ext":"a"}"#,
        r#"{"inner":{"pair":{"right":true}},"number":1}"#,
        r#"{"inner":{"pair":{"left":true,"left":true}},"number":1}"#,
        r#"{"inner":{"pair":{"left":true,"other":1}},"number":1}"#,
        r#"{"inner":{"pair":true},"number":1}"#,
        r#"{"inner":"pair","number":1}"#,
        r#"{"inner":{"one":"1"},"number":1}"#,
        r#"{"inner":{"one":1,"unit":null},"number":1}"#,
        r#"{"inner":{},"number":1}"#,
        r#"{"inner":"other","number":1}"#,
        r#"{"inner":{"other":1},"number":1}"#,
        r#"{"inner":{1:1},"number":1}"#,
        r#"{"inner":1,"number":1}"#,
        r#"{"inner":"unit"}"#,
        r#"{"number":1}"#,
        r#"{}"#,
        r#"{"number":1,"number":1}"#,
        r#"{"number":1,"nunber":1}"#,
        r#"{"number":"1"}"#,
        r#"{"number":4294967296}"#,
        r#"{"number":1,"text":1}"#,
        r#"{"number":1,"list":null}"#,
        r#"{"number":1 "text":null}"#,
        r#"{"number":1,}"#,
        r#"{"number":"#,
        r#"1"#,
        r#""text""#,
        r#"null"#,
        "",
    ] {
        assert_eq!(read::<Outer>(text), read::<derived::Outer>(text), "{text}");
    }
}

/// serde's own readers take `[1, null, [], "unit"]` for the struct; nothing that we promise reads so.
#[test]
fn an_array_never_stands_for_a_struct() {
    let error = read::<Outer>(r#"[1, null, [], "unit"]"#);
    assert_eq!(error, "invalid type: sequence, expected struct Outer at line 1 column 0");
}
