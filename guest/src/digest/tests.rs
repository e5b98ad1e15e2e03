use alloc::{collections::BTreeMap, format, string::ToString};

use serde_json::{Value, json};

use super::*;

/// The obvious way, to compare with: keys by UTF-16 code units, whatever order the map has.
fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // INVARIANT: writing to a String does not fail.
        Value::Number(number) => drop(fmt::write(out, format_args!("{number}"))),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

#[test]
fn sha_256_of_the_empty_and_of_abc() {
    assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/// RFC 8785 section 3.2.3, the RFC's own example.
#[test]
fn rfc_8785_keys_are_ordered_by_utf_16_units() {
    let value = json!({
        "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh", "1": "One",
        "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis"
    });
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With \
                    Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter \
                    Dalet With Dagesh\"}";
    assert_eq!(canonical(&value), expected);
    assert_eq!(canonical_of(&value).unwrap(), expected);
    assert!(is_canonical(expected));
}

/// RFC 8785 section 3.2.2.2.
#[test]
fn rfc_8785_texts_have_the_fewest_escapes() {
    let value = json!("\u{20ac}$\u{f}\nA'B\"\\\\\"/\u{7f}\u{2028}\u{8}\u{c}\r\t\u{0}\u{1f}");
    let expected = "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\u{2028}\\b\\f\\r\\t\\u0000\\u001f\"";
    assert_eq!(canonical(&value), expected);
    assert_eq!(canonical_of(&value).unwrap(), expected);
    assert!(is_canonical(expected));
}

#[test]
fn every_character_is_written_alike_by_both_ways() {
    for code in (0..0x300u32).chain([0xd7ff, 0xe000, 0xfeff, 0xffff, 0x1_0000, 0x10_ffff]) {
        let text = format!("a{}b", char::from_u32(code).unwrap());
        let value = json!({ &text: text });
        assert_eq!(canonical_of(&value).unwrap(), canonical(&value), "{code:x}");
    }
}

#[test]
fn fields_of_a_struct_are_put_in_order_at_every_depth() {
    #[derive(Serialize)]
    struct Outer {
        zeta: u64,
        #[serde(rename = "a\"")]
        quoted: Vec<Inner>,
        #[serde(rename = "a#")]
        hash: Option<bool>,
        map: BTreeMap<&'static str, i64>,
    }
    #[derive(Serialize)]
    struct Inner {
        y: &'static str,
        x: (),
    }
    let value = Outer {
        zeta: 9_007_199_254_740_991,
        quoted: Vec::from([Inner { y: "}", x: () }, Inner { y: "", x: () }]),
        hash: Some(true),
        map: BTreeMap::from([("b", -1), ("a", 0)]),
    };
    let text = canonical_of(&value).unwrap();
    // `"` sorts before `#`, though its escape would not.
    let expected =
        r#"{"a\"":[{"x":null,"y":"}"},{"x":null,"y":""}],"a#":true,"map":{"a":0,"b":-1},"zeta":9007199254740991}"#;
    assert_eq!(text, expected);
    assert_eq!(canonical(&serde_json::to_value(&value).unwrap()), expected);
    assert!(is_canonical(&text));
}

#[test]
fn a_member_is_put_in_its_place() {
    for (object, with) in [
        (r#"{"a":{"n":1},"z":[]}"#, r#"{"a":{"n":1},"n":"x","z":[]}"#),
        (r#"{"z":1}"#, r#"{"n":"x","z":1}"#),
        (r#"{"a":1}"#, r#"{"a":1,"n":"x"}"#),
        (r#"{"na":1}"#, r#"{"n":"x","na":1}"#),
        ("{}", r#"{"n":"x"}"#),
    ] {
        assert_eq!(with_member(object, "n", "x").unwrap(), with);
        assert!(is_canonical(with));
    }
}

#[test]
fn blanks_order_escapes_and_numbers_that_differ_are_not_canonical() {
    for text in [
        "{}",
        "[]",
        "0",
        "-1",
        "\"\"",
        "null",
        "true",
        "false",
        "9007199254740991",
        "-9007199254740991",
        "[[],{}]",
        "{\"a\":1,\"b\":[1,2]}",
        "\"/\"",
        "{\"\":0,\"a\":0}",
        "\"\u{7f}é\"",
        "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
    ] {
        assert!(is_canonical(text), "{text}");
    }
    for text in [
        "",
        " ",
        "{} ",
        " {}",
        "[1, 2]",
        "{\"a\" :1}",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"a\":2}",
        "\"\\/\"",
        "\"\\u0041\"",
        "\"\\u000F\"",
        "\"\\u000a\"",
        "\"\\u00e9\"",
        "\"\\ud800\"",
        "\"\n\"",
        "\"a",
        "\"\\\"",
        "\"\\",
        "-0",
        "01",
        "-01",
        "1.0",
        "1e2",
        "1E2",
        "0.5",
        "+1",
        "-",
        "1-",
        "1a",
        "9007199254740992",
        "18446744073709551616",
        "1e999",
        "nul",
        "nulll",
        "true false",
        "[1,]",
        "[,]",
        "{,}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\"}",
        "[",
        "]",
        "{",
        "[1",
        "[1}",
        "\u{feff}{}",
        "0x1",
        "NaN",
        "{\"\u{fb33}\":2,\"\u{1f600}\":1}",
        "{\"a\":1}{\"a\":1}",
        "٣",
    ] {
        assert!(!is_canonical(text), "{text:?}");
    }
}

#[test]
fn what_has_no_canonical_text_says_why() {
    assert_eq!(canonical_of(&0.5), Err(NotCanonical::Number));
    assert_eq!(canonical_of(&u64::MAX), Err(NotCanonical::Number));
    assert_eq!(canonical_text("{\"b\":1,\"a\":1,\"\\u0062\":1}"), Err(NotCanonical::DuplicateKey));
    assert_eq!(canonical_text("{\"a\":1,\"a\":1}"), Err(NotCanonical::DuplicateKey));
    assert_eq!(canonical_of(&BTreeMap::from([((1, 2), 3)])), Err(NotCanonical::NotJson));
    assert_eq!(canonical_text(&"[".repeat(100_000)), Err(NotCanonical::TooDeep));
}

/// Whatever order the keys come in, the text is one.
#[test]
fn the_order_of_the_input_does_not_matter() {
    let keys = ["b", "a\"", "a#", "a", "é", "\u{1f600}", "\u{fb33}", "", "\n", "aa", "B"];
    let mut texts = Vec::new();
    for shift in 0..keys.len() {
        let members: Vec<String> = (0..keys.len())
            .map(|index| keys[(index * 7 + shift) % keys.len()])
            .map(|key| format!(" {} : [ {{\"z\":1,\"y\":2}} ] ", json!(key)))
            .collect();
        texts.push(canonical_text(&format!("{{{}}}", members.join(","))).unwrap());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0], canonical(&serde_json::from_str(&texts[0]).unwrap()).to_string());
}
