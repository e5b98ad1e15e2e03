//! What comes back of an answer, whole or not.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::{Body, Fault, MAX_HEAD_BYTES, UnreadableBody};
use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn text(body: &str) -> Body {
    Body::Text(body.to_owned())
}

fn header<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let named = answer.headers.iter().filter(|(found, _)| found == name);
    named.map(|(_, value)| value.as_str()).collect()
}

#[tokio::test]
async fn d30_an_answer_comes_with_its_status_headers_body_times_and_request_id() {
    let head = "200 OK\r\nX-First: 1\r\nLink: a\r\nX-Request-Id: r-7 [31m\r\nLink: b\r\nx-last: z";
    let reply = whole(head, b"{\"state\":\"done\"}");
    let answer = answer(Reply::Keep(reply)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, text("{\"state\":\"done\"}"));
    assert_eq!(answer.body_bytes, 16);
    assert_eq!(answer.body_sha256, "414dc96abeb5a87dbec57391eb1cf881aecf766497e6240f8f50f8319bed8e0e");
    assert_eq!((answer.sent_at, answer.received_at), (NOW, NOW));
    assert_eq!(answer.incomplete, None);
    assert_eq!(answer.request_id.as_deref(), Some("r-7[31m"));
    assert_eq!(header(&answer, "link"), ["a", "b"]);
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x-first", "link", "link", "x-request-id", "x-last", "content-length"]);
}

#[tokio::test]
async fn a_request_is_what_the_plan_says_and_little_more() {
    let server = Server::always(Reply::Keep(whole("200 OK", b""))).await;
    let mut plan = server.plan();
    plan.method = "POST".to_owned();
    plan.url.push_str("?q=%2Fa&b");
    plan.body = Some("{\"id\":\"1\"}".to_owned());
    plan.headers.push(("X-Twice".to_owned(), "1".to_owned()));
    plan.headers.push(("x-twice".to_owned(), "2".to_owned()));
    send(&plan).await;
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
    lines[1..].sort();
    assert_eq!(
        lines,
        [
            "POST /jobs/1?q=%2Fa&b HTTP/1.1".to_owned(),
            "accept-encoding: gzip".to_owned(),
            "accept: */*".to_owned(),
            "cache-control: no-cache".to_owned(),
            "content-length: 10".to_owned(),
            format!("host: {}", server.address),
            format!("user-agent: sondeo/{}", env!("CARGO_PKG_VERSION")),
            "x-twice: 1".to_owned(),
            "x-twice: 2".to_owned(),
        ]
    );
    assert_eq!(body, "{\"id\":\"1\"}");
}

#[tokio::test]
async fn d29_a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = Server::always(Reply::Keep(whole("200 OK", b""))).await;
    for status in [301, 302, 303, 307, 308] {
        let head = format!("{status} Moved\r\nlocation: {}/x", elsewhere.origin());
        let answer = answer(Reply::Keep(whole(&head, b"moved"))).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.body, text("moved"));
        assert_eq!(header(&answer, "location"), [format!("{}/x", elsewhere.origin())]);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn nothing_is_remembered_from_one_request_to_the_next() {
    let reply = whole("200 OK\r\nset-cookie: a=b; path=/\r\netag: \"1\"", b"");
    let server = Server::always(Reply::Keep(reply)).await;
    let transport = transport();
    for _ in 0..2 {
        let sent = transport.send(&server.plan(), None, AMPLE).await;
        assert_eq!(answered(sent.unwrap()).status, 200);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}

#[tokio::test]
async fn d14_an_answer_cut_short_keeps_its_status_and_retry_after() {
    let head = "HTTP/1.1 429 Too Many\r\nretry-after: 120\r\ncontent-length: 50\r\n\r\n";
    let short = format!("{head}{{\"state\":\"do");
    let chunked = "HTTP/1.1 503 Busy\r\nretry-after: 120\r\ntransfer-encoding: chunked\r\n\r\n";
    for (reply, status, fault) in [
        (Reply::Close(short.clone().into()), 429, Fault::Truncated),
        (Reply::Reset(short.into()), 429, Fault::Reset),
        (Reply::Close(format!("{chunked}5\r\nhello\r\n").into()), 503, Fault::Truncated),
        (Reply::Close(format!("{chunked}5\r\nhel").into()), 503, Fault::Truncated),
        (Reply::Keep(format!("{chunked}zz\r\nhello\r\n").into()), 503, Fault::Undecodable),
    ] {
        let answer = answer(reply).await;
        assert_eq!((answer.status, answer.incomplete), (status, Some(fault)));
        assert_eq!(header(&answer, "retry-after"), ["120"]);
        assert_eq!(answer.body, Body::None, "what arrived isn't to be used");
        assert_eq!(answer.incomplete.map(Fault::left), Some(super::super::Left::Maybe));
    }
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_is_whole() {
    let answer = answer(Reply::Close(b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec())).await;
    assert_eq!((answer.body, answer.incomplete), (text("hello"), None));
}

#[tokio::test]
async fn a_gzip_body_is_decoded_and_its_headers_stay() {
    let body = gzip(b"hello");
    let answer = answer(Reply::Keep(whole("200 OK\r\ncontent-encoding: gzip", &body))).await;
    assert_eq!((&answer.body, answer.incomplete), (&text("hello"), None));
    assert_eq!(answer.body_bytes, 5);
    assert_eq!(answer.body_sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(header(&answer, "content-encoding"), ["gzip"]);
    assert_eq!(header(&answer, "content-length"), [body.len().to_string()]);
}

#[tokio::test]
async fn d14_a_coding_that_can_not_be_undone_is_a_fault() {
    let honest = gzip(b"{\"state\":\"done\"}");
    for (coding, body) in [
        ("gzip", &b"not gzip at all"[..]),
        ("gzip", &honest[..honest.len() - 1]),
        ("gzip", &[&honest[..], b"garbage"].concat()),
        ("zstd", &honest),
        ("gzip, gzip", &honest),
    ] {
        let head = format!("503 Busy\r\nretry-after: 7\r\ncontent-encoding: {coding}");
        let answer = answer(Reply::Keep(whole(&head, body))).await;
        assert_eq!(answer.incomplete, Some(Fault::Undecodable), "{coding}");
        assert_eq!((answer.status, &answer.body), (503, &Body::None));
        assert_eq!(header(&answer, "retry-after"), ["7"]);
    }
    // Short against its framing comes before short against its coding.
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 999\r\n\r\n";
    let cut = answer(Reply::Close([head.as_bytes(), &honest].concat())).await;
    assert_eq!(cut.incomplete, Some(Fault::Truncated));
    // Nothing to undo: no fault.
    for (coding, body) in [("gzip", &b""[..]), ("zstd", b""), ("identity", b"hello")] {
        let head = format!("200 OK\r\ncontent-encoding: {coding}");
        let answer = answer(Reply::Keep(whole(&head, body))).await;
        assert_eq!(answer.incomplete, None, "{coding}");
    }
}

#[tokio::test]
async fn d14_a_body_is_read_up_to_its_limit_and_not_beyond() {
    for (length, readable) in [(99, true), (100, true), (101, false), (5_000, false)] {
        let server = Server::always(Reply::Keep(whole("200 OK", &vec![b'a'; length]))).await;
        let mut plan = server.plan();
        plan.max_body_bytes = 100;
        let answer = answered(send(&plan).await);
        assert_eq!(answer.incomplete, None);
        let cut = Body::Unreadable(UnreadableBody::TooLarge);
        let expected = if readable { text(&"a".repeat(length)) } else { cut };
        assert_eq!(answer.body, expected);
        assert_eq!(answer.body_bytes, length.min(100) as u64);
    }
}

#[tokio::test]
async fn d14_a_body_without_end_and_a_bomb_cost_no_more_than_the_limit() {
    let start = Instant::now();
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let endless = Reply::Endless(head, chunk.into(), Duration::ZERO);
    // 16 MiB in 16 KiB.
    let bomb = gzip(&vec![0; 16 << 20]);
    assert!(bomb.len() < 20_000);
    let bomb = Reply::Keep(whole("200 OK\r\ncontent-encoding: gzip", &bomb));
    for reply in [endless, bomb] {
        let answer = answer(reply).await;
        assert_eq!(answer.body, Body::Unreadable(UnreadableBody::TooLarge));
        assert_eq!((answer.body_bytes, answer.incomplete), (1 << 20, None));
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn d14_a_body_that_is_not_utf8_is_unreadable_and_still_digested() {
    let answer = answer(Reply::Keep(whole("200 OK", b"caf\xe9"))).await;
    assert_eq!(answer.body, Body::Unreadable(UnreadableBody::NotUtf8));
    assert_eq!((answer.body_bytes, answer.incomplete), (4, None));
    assert_eq!(answer.body_sha256, "dafd66c0b98965e688be1fc12942c09f0350e6be0685017c3f234e97d0adc92e");
}

#[tokio::test]
async fn d14_no_body_is_none_and_a_byte_order_mark_is_left_in() {
    for head in ["204 No Content", "200 OK\r\ncontent-length: 0", "304 Not Modified"] {
        let bare = format!("HTTP/1.1 {head}\r\n\r\n");
        let answer = answer(Reply::Keep(bare.into())).await;
        assert_eq!((answer.body, answer.incomplete), (Body::None, None), "{head}");
    }
    let answer = answer(Reply::Keep(whole("200 OK", "\u{feff}{}".as_bytes()))).await;
    assert_eq!(answer.body, text("\u{feff}{}"));
}

#[tokio::test]
async fn a_header_value_that_is_not_utf8_is_passed_with_replacements() {
    let reply = b"HTTP/1.1 200 OK\r\nx-name: caf\xe9\r\nx-other: caf\xc3\xa9\r\ncontent-length: 0\r\n\r\n";
    let answer = answer(Reply::Keep(reply.to_vec())).await;
    assert_eq!(header(&answer, "x-name"), ["caf\u{fffd}"]);
    assert_eq!(header(&answer, "x-other"), ["café"]);
}

#[tokio::test]
async fn d14_a_head_beyond_its_limit_keeps_what_fitted() {
    let filler = format!("x-filler: {}", "a".repeat(MAX_HEAD_BYTES));
    let head = format!("429 Too Many\r\nretry-after: 9\r\n{filler}\r\nx-after: 1");
    let answer = answer(Reply::Keep(whole(&head, b"hello"))).await;
    assert_eq!((answer.status, answer.incomplete), (429, Some(Fault::Undecodable)));
    assert_eq!(answer.headers, [("retry-after".to_owned(), "9".to_owned())]);
    assert_eq!((answer.body, answer.body_bytes), (Body::None, 0));
}

#[tokio::test]
async fn i18_debug_shows_neither_header_values_nor_body() {
    let head = "200 OK\r\nlocation: /canary-1\r\nset-cookie: canary-2";
    let answer = answer(Reply::Keep(whole(head, b"canary-3"))).await;
    let shown = format!("{answer:?}");
    assert!(shown.contains("set-cookie") && shown.contains("Text(8 bytes)"), "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
}
