use alloc::{format, string::ToString};

use serde_json::{Value, json};

use super::*;
use crate::{
    api::{TransportFault, Unreadable},
    classify::tests::{answer, contract, text},
    digest::{is_canonical, sha256_hex},
    observation::{Named, key},
    pointer::Pointer,
};

const BASE: &str = "https://api.provider.example/v1/jobs/j1";

fn observed(contract: &Contract, answer: &Answer) -> (Observation, Vec<Kept>, String) {
    let base = Url::parse(BASE).unwrap();
    let Observed { observation, kept } = observe(contract, Some(&base), answer);
    assert!(is_canonical(&observation), "{observation}");
    (serde_json::from_str(&observation).unwrap(), kept, observation)
}

fn at<'a>(seen: &'a Observation, pointer: &str) -> Option<&'a Seen> {
    seen.at(&Place::At(Pointer::parse(pointer).unwrap()))
}

fn reference(seen: Option<&Seen>) -> &RefSeen {
    match seen {
        Some(Seen::Reference(reference)) => reference,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_the_contract_names_is_kept() {
    let named = contract(&json!({"identity": [{"at": "/id", "equals": "part:id"}],
        "consistency": [{"if": {"not": [{"test": [{"at": "/a~1b", "present": true}]}]}, "must": [{"header": "x-state", "is": "a"}]}],
        "success": {"no_result": true, "forbid": [{"at": "/errors"}], "partial_if": [{"any": {"at": "/parts", "test": [{"at": "/ok", "is": false}]}}]},
        "hints": [{"at": "/wait", "unit": "s", "kind": "delay"}],
        "expiry": {"at": "/expires", "format": "rfc3339"}}));
    let body = json!({"id": "j1", "status": "running", "a/b": {}, "errors": [], "wait": 1.50, "expires": null, "secret": "S3CR3T",
        "parts": [{"ok": true, "name": "S3CR3T"}, 7, {}], "message": "S3CR3T"});
    let headers = [("Set-Cookie", "S3CR3T"), ("X-STATE", " a\t"), ("Retry-After", "9"), ("x-debug", "S3CR3T")];
    let (seen, kept, whole) = observed(&named, &answer(200, &headers, text(&body)));
    let expected = json!({
        "/id": {"text": "j1"}, "/status": {"text": "running"}, "/a~1b": {"object": 0}, "/errors": {"array": 0},
        "/wait": {"number": "1.5"}, "/expires": "null", "header:x-state": {"text": "a"}, "header:retry-after": {"text": "9"}
    });
    assert_eq!(serde_json::to_value(&seen.values).unwrap(), expected);
    assert_eq!(serde_json::to_value(&seen.arrays).unwrap(), json!({"/parts": [{"/ok": {"bool": true}}, {}, {}]}));
    assert!(kept.is_empty() && !whole.contains("S3CR3T"), "{whole}");
    assert_eq!(seen.body.sha256, Some(sha256_hex(body.to_string().as_bytes())));
    assert_eq!((seen.body.kind, seen.body.bytes), (BodyKind::Json, size(&body.to_string())));
}

#[test]
fn d11_results_are_named_by_presence_and_digest_and_handed_over_beside() {
    let with = contract(&json!({
        "decide": [
            {"when": {"any": {"at": "/files", "test": [{"at": "/url", "present": true}]}}, "then": "pending"},
            {"map": {"at": "/status", "values": {"done": "succeeded"}}}
        ],
        "result": {"file": {"at": "/files/0/url", "url": true}, "data": {"at": "/data", "secret": true},
            "n": {"at": "/n"}, "none": {"at": "/none"}, "empty": {"at": "/empty"}, "foreign": {"at": "/foreign", "url": true},
            "moved": {"header": "location"}},
        "success": {"require": [{"at": "/n"}]}, "error": [{"at": "/data"}, {"at": "/files"}, {"at": ""}]
    }));
    let file = "https://files.provider.example/r/1";
    let body = json!({"status": "done", "files": [{"url": file}, {"url": "https://files.provider.example/r/2"}],
        "data": {"k": [1, 2]}, "n": 7, "none": null, "empty": "", "foreign": "https://evil.example/x"});
    let (seen, kept, whole) = observed(&with, &answer(200, &[("Location", "../x")], text(body)));
    let role = |role: &str| kept.iter().find(|kept| kept.role == role);
    let data = r#"{"k":[1,2]}"#;
    assert_eq!(role("result:file").map(|k| (k.value.as_str(), k.secret)), Some((file, false)));
    assert_eq!(role("result:data").map(|k| (k.value.as_str(), k.secret)), Some((data, true)));
    assert_eq!(role("result:n").map(|k| k.value.as_str()), Some("7"));
    assert_eq!(role("result:moved").map(|k| k.value.as_str()), Some("../x"));
    assert_eq!(kept.len(), 4);
    for kept in &kept {
        assert_eq!(kept.sha256, sha256_hex(kept.value.as_bytes()));
        let place = &with.result[kept.role.strip_prefix("result:").unwrap()].place;
        assert_eq!(reference(seen.values.get(&key(place))).sha256, kept.sha256);
    }
    let origin = reference(at(&seen, "/files/0/url")).origin.clone();
    assert_eq!(origin.as_deref(), Some("https://files.provider.example"));
    assert_eq!((reference(at(&seen, "/empty")).empty, reference(at(&seen, "/none")).kind.as_str()), (true, "null"));
    for value in ["/r/1", "/r/2", "\\\"k", "../x", "evil.example/x"] {
        assert!(!whole.contains(value), "{value} in {whole}");
    }
    assert_eq!(seen.error, None);
}

#[test]
fn d31_a_result_that_is_a_signed_url_is_secret() {
    let with = contract(&json!({
        "request": {"url": "https://api.provider.example/{id}", "id_parts": ["id"], "query": ["version"]},
        "result": {"one": {"at": "/one", "url": true}, "open": {"at": "/open", "url": true}, "all": {"at": "/all"}, "plain": {"at": "/plain"}}
    }));
    let url = |query: &str| format!("https://files.provider.example/r{query}");
    let body = json!({"one": url("?version=1&sig=abc"), "open": url("?version=1"), "all": [1, url(""), url("?sig=abc")], "plain": "is it? no"});
    let (_, kept, whole) = observed(&with, &answer(200, &[], text(body)));
    let secret: Vec<(&str, bool)> = kept.iter().map(|kept| (kept.role.as_str(), kept.secret)).collect();
    assert_eq!(secret, [("result:all", true), ("result:one", true), ("result:open", false), ("result:plain", false)]);
    assert!(!whole.contains("sig=") && !whole.contains("version="), "{whole}");
}

#[test]
fn d14_each_body_is_of_one_kind() {
    let table = contract(&json!({"decide": [
        {"when": {"all": {"at": "/list", "test": [{"at": "", "is": 1}]}}, "then": "failed"},
        {"map": {"at": "/s/status", "values": {"done": "failed"}}}
    ]}));
    let long = format!("{{\"list\":[{}1]}}", "1,".repeat(limits::ARRAY_ITEMS_MAX));
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    let big = format!("{{\"s\":\"{}\"}}", "a".repeat(limits::BODY_BYTES_MAX));
    for (body, kind, why) in [
        ("", BodyKind::None, None),
        (" \r\n\t", BodyKind::None, None),
        ("\u{feff}", BodyKind::None, None),
        ("null", BodyKind::Json, None),
        ("\u{feff}{\"s\":1e999}", BodyKind::Json, None),
        ("\u{feff}\u{feff}{}", BodyKind::Unreadable, Some("not_json")),
        ("<html>", BodyKind::Unreadable, Some("not_json")),
        ("{} {}", BodyKind::Unreadable, Some("not_json")),
        (&deep, BodyKind::Unreadable, Some("too_deep")),
        ("{\"s\":{\"status\":1},\"s\":{}}", BodyKind::Unreadable, Some("duplicate_key")),
        ("{\"s\":{\"status\":1,\"\\u0073tatus\":1}}", BodyKind::Unreadable, Some("duplicate_key")),
        ("{\"other\":1,\"other\":2,\"s\":{\"o\":1,\"o\":1}}", BodyKind::Json, None),
        (&long, BodyKind::Unreadable, Some("array_too_long")),
        (&big, BodyKind::Unreadable, Some("too_large")),
    ] {
        for status in [200, 500] {
            let (seen, _, _) = observed(&table, &answer(status, &[("Retry-After", "5")], text(body)));
            let shown: String = body.chars().take(40).collect();
            assert_eq!((seen.body.kind, seen.body.why.as_deref()), (kind, why), "{shown}");
            assert_eq!((seen.body.bytes, seen.body.sha256), (size(body), Some(sha256_hex(body.as_bytes()))), "{shown}");
            assert!(seen.values.contains_key("header:retry-after"), "{shown}");
            if kind != BodyKind::Json {
                assert_eq!((seen.values.len(), seen.arrays.len()), (1, 0), "{shown}");
            }
        }
    }
    let (seen, _, _) = observed(&table, &answer(204, &[], Body::None));
    assert_eq!(seen.body, BodyFact { kind: BodyKind::None, why: None, bytes: 0, sha256: None });
    let given = Unreadable { why: "not_utf8".into(), sha256: "ab".repeat(32), bytes: 12 };
    let (seen, _, _) = observed(&table, &answer(200, &[], Body::Unreadable(given)));
    let fact =
        BodyFact { kind: BodyKind::Unreadable, why: Some("not_utf8".into()), bytes: 12, sha256: Some("ab".repeat(32)) };
    assert_eq!(seen.body, fact);
}

#[test]
fn d14_of_an_exchange_that_did_not_complete_only_headers_count() {
    let with = contract(&json!({"identity": [{"at": "/id", "equals": "part:id"}], "error": [{"at": "/error"}],
        "request": {"url_from": {"header": "location"}, "conditional": true}, "request_id_headers": ["x-request-id"],
        "result": {"moved": {"header": "x-result"}}}));
    let body =
        text(json!({"id": "j1", "status": "done", "error": "e", "result_url": "https://files.provider.example/r"}));
    let headers =
        [("Retry-After", "20"), ("X-Request-Id", "r-1"), ("ETag", "\"a\""), ("Location", "/x"), ("X-Result", "f")];
    let cut = Answer { incomplete: Some(TransportFault::Truncated), ..answer(503, &headers, body) };
    let (seen, kept, _) = observed(&with, &cut);
    assert_eq!(seen.incomplete, Some(TransportFault::Truncated));
    assert_eq!(seen.values.get("header:retry-after"), Some(&Seen::Text("20".into())));
    assert_eq!((seen.request_id.as_deref(), seen.body.kind), (Some("r-1"), BodyKind::None));
    assert!(kept.is_empty() && seen.error.is_none() && seen.etag.is_none() && seen.address.is_none());
    assert!(seen.values.keys().all(|key| key.starts_with("header:")));
}

#[test]
fn d14_a_body_that_the_contract_reads_as_text_is_its_word() {
    let words =
        contract(&json!({"reads": "text", "decide": [{"map": {"at": "", "values": {"EXECUTING": "pending"}}}]}));
    let (seen, _, _) = observed(&words, &answer(200, &[], text("\u{feff} EXECUTING\r\n")));
    assert_eq!((seen.body.kind, at(&seen, "")), (BodyKind::Text, Some(&Seen::Text("EXECUTING".into()))));
    let (seen, _, _) = observed(&words, &answer(200, &[], text(" \n")));
    assert_eq!((seen.body.kind, at(&seen, "")), (BodyKind::None, None));
}

#[test]
fn values_are_bounded_and_longer_ones_go_by_digest() {
    let table = contract(&json!({"hints": [{"at": "/n", "unit": "s", "kind": "delay"}]}));
    let exact = "a".repeat(limits::VALUE_BYTES_MAX);
    let over = format!("{exact}b");
    let digits = "1".repeat(limits::NUMBER_BYTES_MAX + 1);
    let seen = |body: &str| observed(&table, &answer(200, &[], text(body))).0;
    assert_eq!(at(&seen(&format!("{{\"status\":\"{exact}\"}}")), "/status"), Some(&Seen::Text(exact)));
    let long = Seen::Long { bytes: size(&over), sha256: sha256_hex(over.as_bytes()), number: false };
    assert_eq!(at(&seen(&format!("{{\"status\":\"{over}\"}}")), "/status"), Some(&long));
    let long = Seen::Long { bytes: size(&digits), sha256: sha256_hex(digits.as_bytes()), number: true };
    assert_eq!(at(&seen(&format!("{{\"n\":{digits}}}")), "/n"), Some(&long));
    let half = seen("{\"status\":\"\\ud800\"}");
    assert!(matches!(at(&half, "/status"), Some(Seen::Long { .. })));
}

#[test]
fn an_observation_is_never_larger_than_an_entry_can_hold() {
    let lists = contract(
        &json!({"decide": [{"when": {"all": {"at": "/l", "test": [{"at": "/v", "is": "x"}]}}, "then": "failed"}]}),
    );
    let items: Vec<Value> = (0..1000).map(|_| json!({"v": "\u{1}".repeat(100)})).collect();
    let (seen, _, whole) = observed(&lists, &answer(200, &[("Retry-After", "5")], text(json!({"l": items}))));
    assert_eq!((seen.body.kind, seen.body.why.as_deref()), (BodyKind::Unreadable, Some("too_large")));
    assert!(whole.len() < 1000 && seen.values.len() == 1, "{whole}");
}

#[test]
fn rfc_9110_header_names_have_no_case_and_a_repeated_one_is_said_to_be() {
    let with = contract(
        &json!({"hints": [{"header": "x-wait", "unit": "s", "kind": "delay"}], "result": {"r": {"header": "x-result"}}}),
    );
    let long = "v".repeat(9000);
    let headers = [
        ("RETRY-AFTER", "5"),
        ("retry-after", "5"),
        ("X-Wait", &long),
        ("x-result", "S3CR3T-1"),
        ("X-Result", "S3CR3T-2"),
    ];
    let (seen, kept, whole) = observed(&with, &answer(503, &headers, Body::None));
    let repeated = Seen::Repeated(Vec::from(["5".to_string(), "5".to_string()]));
    assert_eq!(seen.values.get("header:retry-after"), Some(&repeated));
    assert_eq!(
        seen.values.get("header:x-wait"),
        Some(&Seen::Long { bytes: 9000, sha256: sha256_hex(long.as_bytes()), number: false })
    );
    assert_eq!(reference(seen.values.get("header:x-result")).kind, "repeated");
    assert!(kept.is_empty() && !whole.contains("S3CR3T"));
    let many: Vec<(&str, &str)> = (0..100).map(|_| ("Retry-After", long.as_str())).collect();
    let (_, _, whole) = observed(&with, &answer(503, &many, Body::None));
    assert!(whole.len() < 2000);
}

#[test]
fn d35_error_progress_and_request_id_are_the_first_there_is_bounded_and_plain() {
    let with = contract(&json!({"error": [{"at": "/error/message"}, {"at": "/error"}, {"header": "x-error"}],
        "progress": [{"at": "/progress"}], "request_id_headers": ["x-request-id", "x-trace"]}));
    let seen = |body: Value, headers: &[(&str, &str)]| observed(&with, &answer(200, headers, text(body))).0;
    let first = seen(
        json!({"error": {"message": "a\nb\u{1b}[2J"}, "progress": 0.5}),
        &[("x-trace", "t-1"), ("X-Trace", "t-2")],
    );
    assert_eq!(
        (first.error.as_deref(), first.progress.as_deref(), first.request_id.as_deref()),
        (Some("a b[2J"), Some("0.5"), Some("t-1"))
    );
    let object = seen(json!({"error": {"message": "", "code": 5}, "progress": {"done": 1}}), &[]);
    assert_eq!(
        (object.error.as_deref(), object.progress.as_deref()),
        (Some("{\"code\":5,\"message\":\"\"}"), Some("{\"done\":1}"))
    );
    let header = seen(json!({"error": null}), &[("X-Error", &"e".repeat(300))]);
    assert_eq!(header.error.as_ref().map(String::len), Some(limits::PROVIDER_TEXT_BYTES_MAX));
    assert!(seen(json!({"error": []}), &[]).error.is_none());
}

#[test]
fn d29_an_entity_tag_is_kept_where_it_can_be_sent_back() {
    let table = |conditional: bool| {
        contract(
            &json!({"request": {"url": "https://api.provider.example/{id}", "id_parts": ["id"], "conditional": conditional}}),
        )
    };
    let etag = |conditional, status, headers: &[(&str, &str)]| {
        observed(&table(conditional), &answer(status, headers, text("{}"))).0.etag
    };
    assert_eq!(etag(true, 200, &[("ETag", "W/\"a-1\"")]).as_deref(), Some("W/\"a-1\""));
    assert_eq!(etag(false, 200, &[("ETag", "\"a\"")]), None);
    assert_eq!(etag(true, 503, &[("ETag", "\"a\"")]), None);
    let long = format!("\"{}\"", "a".repeat(300));
    for bad in ["a", "\"a", "", "\"", "\"a b\"", "\"a\"b\"", "w/\"a\"", "\"\u{e9}\"", &long] {
        assert_eq!(etag(true, 200, &[("ETag", bad)]), None, "{bad}");
    }
    assert_eq!(etag(true, 200, &[("ETag", "\"a\""), ("etag", "\"a\"")]), None);
}

#[test]
fn d28_an_address_is_taken_only_where_the_contract_allows() {
    let from = contract(&json!({"request": {"url_from": {"header": "location"}, "query": ["page"]},
        "origins": [{"origin": "https://api.provider.example"}, {"origin": "http://plain.example"}, {"origin": "http://local.example", "allow_private": true}]}));
    let named = |headers: &[(&str, &str)]| {
        let (seen, kept, whole) = observed(&from, &answer(202, headers, Body::None));
        assert!(kept.is_empty(), "{headers:?}");
        (seen.address, whole)
    };
    for (given, url) in [
        ("/v1/jobs/2?page=2", "https://api.provider.example/v1/jobs/2?page=2"),
        ("2", "https://api.provider.example/v1/jobs/2"),
        ("https://api.provider.example/x", "https://api.provider.example/x"),
        ("http://local.example/x", "http://local.example/x"),
    ] {
        let address = Named::Address { url: url.into(), sha256: sha256_hex(url.as_bytes()), secret: false };
        assert_eq!(named(&[("Location", given)]).0, Some(address));
    }
    let long = format!("/{}", "a".repeat(3000));
    for bad in [
        "https://evil.example/collect",
        "//evil.example/collect",
        "http://api.provider.example/x",
        "http://plain.example/x",
        "https://user:pw@api.provider.example/x",
        "ftp://api.provider.example/x",
        "https://api.provider.example:444/x",
        "https://api.provider.example.evil.example/",
        "https://api.provider.example\\@evil.example/",
        "javascript:x",
        &long,
    ] {
        let (address, whole) = named(&[("Location", bad)]);
        assert!(matches!(address, Some(Named::Refused { .. })), "{bad}: {address:?}");
        assert!(!whole.contains("evil") && !whole.contains("pw@"), "{whole}");
    }
    assert!(matches!(named(&[("Location", "/a"), ("location", "/a")]).0, Some(Named::Refused { .. })));
    assert_eq!(named(&[]).0, None);
    assert_eq!(named(&[("Location", "")]).0, None);
    for status in [401, 404, 503] {
        assert_eq!(observed(&from, &answer(status, &[("Location", "/a")], Body::None)).0.address, None);
    }
}

#[test]
fn d28_without_an_address_asked_a_relative_one_has_no_meaning() {
    let from = contract(&json!({"request": {"url_from": {"at": "/status_url"}}}));
    let named = |url: Value| -> Option<Named> {
        let answer = answer(202, &[], text(json!({"status_url": url})));
        serde_json::from_str::<Observation>(&observe(&from, None, &answer).observation).unwrap().address
    };
    assert!(matches!(named(json!("/v1/jobs/1")), Some(Named::Refused { .. })));
    assert!(matches!(named(json!("https://api.provider.example/v1/jobs/1")), Some(Named::Address { .. })));
    assert!(matches!(named(json!(7)), Some(Named::Refused { .. })));
    assert_eq!(named(Value::Null), None);
}

#[test]
fn d31_a_secret_address_is_shown_without_its_query_and_kept_beside() {
    let from = contract(&json!({
        "request": {"url_from": {"at": "/nextUri"}, "query": ["page"]}, "url_policy": "may_change",
        "decide": [{"when": {"test": [{"at": "/nextUri", "present": true}]}, "then": "pending"}]
    }));
    let url = "https://api.provider.example/v1/next?page=2&token=S3CR3T";
    let (seen, kept, whole) = observed(&from, &answer(200, &[], text(json!({"nextUri": url}))));
    let sha256 = sha256_hex(url.as_bytes());
    let address =
        Named::Address { url: "https://api.provider.example/v1/next".into(), sha256: sha256.clone(), secret: true };
    assert_eq!(seen.address, Some(address));
    assert_eq!(kept, [Kept { sha256, value: url.into(), secret: true, role: "address".into() }]);
    assert_eq!(reference(at(&seen, "/nextUri")).kind, "text");
    assert!(!whole.contains("S3CR3T"), "{whole}");
}

#[test]
fn d28_an_address_to_follow_is_judged_by_the_contract_in_force_there() {
    let build = json!({"id": "example.build", "provider": "Example", "sources": ["docs"], "effects": {"kind": "none", "known": "docs"},
        "request": {"url_from": "opening"}, "origins": [{"origin": "https://build.provider.example"}],
        "decide": [{"map": {"at": "/status", "values": {"running": "pending"}}}]});
    let queue = contract(&json!({"follow": {"at": "/executable/url", "contract": build}}));
    let address = |body: Value| observed(&queue, &answer(200, &[], text(body))).0.address;
    let to = |url: &str| address(json!({"executable": {"url": url}}));
    assert!(matches!(to("https://build.provider.example/9/"), Some(Named::Address { .. })));
    assert!(matches!(to("https://api.provider.example/9/"), Some(Named::Refused { .. })));
    assert_eq!(address(json!({"executable": null})), None);
}
