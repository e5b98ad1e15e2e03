use alloc::{format, string::ToString};

use super::*;

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

fn raw<'a>(text: &'a str, at: &str) -> Result<Option<&'a str>, Duplicate> {
    Doc::parse(text).unwrap().at(&pointer(at)).map(|node| node.map(|node| node.raw()))
}

const BODY: &str = r#" {"a" : [ 10 , {"b\u0063":"x\"y]}"} ,[] ] , "" : {"~/":true,"é":null},"n":-1.50e+999 ,"big":12345678901234567890123} "#;

#[test]
fn rfc_6901_pointers_find_their_values() {
    for (at, expected) in [
        ("/a/0", Some("10")),
        ("/a/1", Some(r#"{"b\u0063":"x\"y]}"}"#)),
        ("/a/1/bc", Some(r#""x\"y]}""#)),
        ("/a/2", Some("[]")),
        ("/a/2/0", None),
        ("/a/3", None),
        ("/a/00", None),
        ("/a/01", None),
        ("/a/-", None),
        ("/a/-1", None),
        ("/a/+1", None),
        ("/a/", None),
        ("/a/99999999999999999999999999", None),
        ("/a/0/0", None),
        ("/", Some(r#"{"~/":true,"é":null}"#)),
        ("//~0~1", Some("true")),
        ("//é", Some("null")),
        ("/n", Some("-1.50e+999")),
        ("/big", Some("12345678901234567890123")),
        ("/b", None),
        ("/A", None),
    ] {
        assert_eq!(raw(BODY, at), Ok(expected), "{at}");
    }
    assert_eq!(raw(BODY, ""), Ok(Some(BODY.trim())));
}

#[test]
fn d14_only_a_key_on_the_way_must_be_unique() {
    let text = r#"{"x":1,"x":1,"in":{"\u0079":1,"y":2,"z":3},"list":[{"k":1,"k":2}],"é":1,"\u00e9":2}"#;
    assert_eq!(raw(text, "/x"), Err(Duplicate));
    assert_eq!(raw(text, "/x/y"), Err(Duplicate));
    assert_eq!(raw(text, "/in/y"), Err(Duplicate));
    assert_eq!(raw(text, "/é"), Err(Duplicate));
    assert_eq!(raw(text, "/in/z"), Ok(Some("3")));
    assert_eq!(raw(text, "/list/0/other"), Ok(None));
    let doc = Doc::parse(text).unwrap();
    let list = doc.at(&pointer("/list")).unwrap().unwrap();
    let items = list.items(8).unwrap();
    assert_eq!(items[0].at(&pointer("/k")), Err(Duplicate));
    assert_eq!(doc.root().len(), Some(6));
}

#[test]
fn values_are_given_by_their_type_only() {
    let doc = Doc::parse(r#"["t\u00e9\n\ud83d\ude00","",12.0,-0,true,false,null,[1,[2,3]],{"a":{"b":1}}]"#).unwrap();
    let nodes = doc.root().items(9).unwrap();
    let kinds: Vec<Kind> = nodes.iter().map(Node::kind).collect();
    use Kind::{Array, Bool, Null, Number, Object, Text};
    assert_eq!(kinds, [Text, Text, Number, Number, Bool, Bool, Null, Array, Object]);
    assert_eq!(nodes[0].text().unwrap(), "té\n😀");
    assert_eq!(nodes[1].text().unwrap(), "");
    assert_eq!(nodes[2].number(), Some("12.0"));
    assert_eq!(nodes[3].number(), Some("-0"));
    assert_eq!((nodes[4].boolean(), nodes[5].boolean()), (Some(true), Some(false)));
    assert!(nodes[6].is_null() && !nodes[5].is_null());
    assert_eq!((nodes[7].len(), nodes[8].len(), nodes[0].len()), (Some(2), Some(1), None));
    assert_eq!((nodes[2].text(), nodes[0].number(), nodes[2].boolean()), (None, None, None));
    assert_eq!(nodes[8].items(0), Ok(Vec::new()));
}

#[test]
fn d14_an_array_longer_than_the_limit_is_refused_whole() {
    let doc = Doc::parse("[1,2,3]").unwrap();
    assert_eq!(doc.root().items(2), Err(TooLong));
    assert_eq!(doc.root().items(3).map(|items| items.len()), Ok(3));
}

#[test]
fn half_a_surrogate_pair_is_a_text_that_says_nothing() {
    for text in [r#""\ud800""#, r#""\udc00x""#, r#""\ud800\ud800""#, r#""\ude00\ud83d""#] {
        let doc = Doc::parse(text).unwrap();
        assert_eq!((doc.root().kind(), doc.root().text()), (Kind::Text, None), "{text}");
    }
    assert_eq!(raw(r#"{"\ud800":1,"\ud800":2,"a":3}"#, "/a"), Ok(Some("3")));
}

#[test]
fn d14_one_byte_order_mark_is_tolerated() {
    assert_eq!(raw("\u{feff}{\"a\":1}", "/a"), Ok(Some("1")));
    assert_eq!(Doc::parse("\u{feff}\u{feff}1").unwrap_err(), Unfit::NotJson);
    assert_eq!(Doc::parse("1\u{feff}").unwrap_err(), Unfit::NotJson);
    assert_eq!(Doc::parse(" \u{feff}1").unwrap_err(), Unfit::NotJson);
}

#[test]
fn d14_what_is_not_quite_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "{'a':1}",
        "{\"a\" 1}",
        "{1:2}",
        "nul",
        "NULL",
        "True",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "01",
        "-01",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "--1",
        "-",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "\"\t\"",
        "1 2",
        "{} {}",
        "[]]",
        "// c\n1",
        "/**/1",
        "1;",
        "\u{a0}1",
        "\u{2028}1",
        "[1}",
        "{\"a\":[}",
        "]",
        "\"a\"b",
        "\0",
        "1\0",
    ] {
        assert_eq!(Doc::parse(text).map(|doc| doc.root().raw()), Err(Unfit::NotJson), "{text:?}");
    }
}

#[test]
fn d14_numbers_of_any_size_and_every_escape_are_json() {
    for text in [
        "1e999",
        "-1E-999",
        "0",
        "-0",
        "-0.0e-0",
        "12345678901234567890123",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83d\"",
        "\"\u{7f}\u{2028}\"",
    ] {
        assert_eq!(Doc::parse(text).map(|doc| doc.root().raw()), Ok(text));
    }
}

#[test]
fn d14_depth_is_bounded_before_anything_recurses() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Doc::parse(&nested(JSON_DEPTH_MAX)).is_ok());
    assert_eq!(Doc::parse(&nested(JSON_DEPTH_MAX + 1)).unwrap_err(), Unfit::TooDeep);
    assert_eq!(Doc::parse(&"[".repeat(1_000_000)).unwrap_err(), Unfit::TooDeep);
    assert_eq!(Doc::parse(&"{\"a\":".repeat(1_000_000)).unwrap_err(), Unfit::TooDeep);
    let brackets_in_text = format!("[\"{}\\\"{}\"]", "[".repeat(100), "{".repeat(100));
    assert!(Doc::parse(&brackets_in_text).is_ok());
    let siblings = format!("[{}[]]", "[],".repeat(1_000));
    assert_eq!(Doc::parse(&siblings).unwrap().root().len(), Some(1_001));
}

/// Whatever serde_json makes of a value, walking finds the same.
#[test]
fn walking_agrees_with_building() {
    let text = r#"{"a":[1,{"b":[[],[{"c":"\\\""},"]"]]},"}"],"d":{"e":{},"f":"\\","g":[{"h":null}]}}"#;
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    for at in [
        "/a/1/b/1/0/c",
        "/a/1/b/1/1",
        "/a/2",
        "/d/e",
        "/d/f",
        "/d/g/0/h",
        "/d/g/0",
        "/a/1/b/0",
        "/d/x",
        "/a/1/b/1/0/c/0",
    ] {
        let walked = raw(text, at).unwrap().map(ToString::to_string);
        assert_eq!(walked, value.pointer(at).map(ToString::to_string), "{at}");
    }
}
