//! Bodies that can't be read, that only just can, and that are not whole; connections that break or drag on.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sondeo::component::types::{Reason, TransportFault};

use super::case::{Case, Expect, RUNNING, asks, fails, faults, http, raw, raw_then, throttled, waits};
use super::heads::whole;
use super::server::Part;

/// Most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting that is read.
const JSON_DEPTH_MAX: usize = 64;
/// What is announced, or streamed, by who wants to fill a memory.
pub(crate) const GIB: u64 = 1 << 30;

fn unreadable() -> Expect {
    asks(Reason::UnreadableResponse)
}

fn unknown() -> Expect {
    asks(Reason::UnknownState)
}

/// What is parsed, and what isn't (D14).
pub(crate) fn texts() -> Vec<Case> {
    let html = "<!doctype html><html><title>503 Service Unavailable</title></html>";
    let mut cases = vec![
        Case::new("D14", "HTML", http(200, &["content-type: text/html"], html), unreadable()),
        Case::new(
            "D14",
            "HTML that says it is JSON",
            http(200, &["content-type: application/json"], html),
            unreadable(),
        ),
        Case::new("D14", "JSON that says it is HTML", http(200, &["content-type: text/html"], RUNNING), waits()),
        Case::new("D30", "HTML with 503", http(503, &["content-type: text/html"], html), fails()),
        Case::new("D30", "HTML with 429", http(429, &["content-type: text/html"], html), throttled()),
        Case::new("D26", "HTML with 401", http(401, &[], html), asks(Reason::AuthorizationDenied)),
        Case::new("D14", "UTF-16", http(200, &[], utf16(RUNNING)), unreadable()),
    ];
    let bom = |text: &str| format!("\u{feff}{text}");
    let running = |more: &str| format!(r#"{{"job_id":"$JOB","state":"running"{more}}}"#);
    for (what, body, expect) in [
        ("nothing", String::new(), unknown()),
        ("blanks", " \r\n\t ".to_owned(), unknown()),
        ("BOM", bom(RUNNING), waits()),
        ("BOM alone", bom(""), unknown()),
        ("two BOMs", bom(&bom(RUNNING)), unreadable()),
        ("BOM behind", format!("{RUNNING}\u{feff}"), unreadable()),
        ("blanks around", format!("\r\n\t {RUNNING} \n"), waits()),
        ("NUL behind", format!("{RUNNING}\0"), unreadable()),
        ("form feed before", format!("\u{c}{RUNNING}"), unreadable()),
        ("two values", format!("{RUNNING}{RUNNING}"), unreadable()),
        ("two lines of JSON", format!("{RUNNING}\n{RUNNING}"), unreadable()),
        ("event stream", format!("data: {RUNNING}\n\n"), unreadable()),
        ("anti-hijack prefix", format!(")]}}',\n{RUNNING}"), unreadable()),
        ("JSONP", format!("callback({RUNNING})"), unreadable()),
        ("comma behind", running(","), unreadable()),
        ("comment", running("/* */"), unreadable()),
        ("single quotes", RUNNING.replace('"', "'"), unreadable()),
        ("no quotes", RUNNING.replace('"', ""), unreadable()),
        ("cut", RUNNING[..RUNNING.len() - 1].to_owned(), unreadable()),
        ("cut within a text", r#"{"job_id":"$JOB","state":"runn"#.to_owned(), unreadable()),
        ("line break within a text", r#"{"job_id":"$JOB","state":"run"#.to_owned() + "\nning\"}", unreadable()),
        ("bad escape", running(r#","x":"\q""#), unreadable()),
        ("XML", "<job><state>running</state></job>".to_owned(), unreadable()),
        ("a word", "running".to_owned(), unreadable()),
        ("a text", r#""running""#.to_owned(), unknown()),
        ("null", "null".to_owned(), unknown()),
        ("a number", "0".to_owned(), unknown()),
        ("an array", "[]".to_owned(), unknown()),
        ("an object in an array", format!("[{RUNNING}]"), unknown()),
        ("an empty object", "{}".to_owned(), unknown()),
        ("huge numbers", running(r#","x":1e999999999,"y":-1e-999999999"#), waits()),
        ("many digits", running(&format!(r#","x":{}"#, "9".repeat(10_000))), waits()),
        ("half a surrogate pair elsewhere", running(r#","x":"\ud800""#), waits()),
        ("duplicate state", running(r#","state":"succeeded""#), unreadable()),
        ("duplicate state, the same", running(r#","state":"running""#), unreadable()),
        ("duplicate state, escaped", running(r#","st\u0061te":"succeeded""#), unreadable()),
        ("duplicate echo", running(r#","job_id":"$JOB""#), unreadable()),
        ("duplicate result", running(r#","result_url":"a","result_url":"b""#), unreadable()),
        ("duplicate elsewhere", running(r#","x":{"y":1,"y":2},"z":1,"z":2"#), waits()),
        ("duplicate in another case", running(r#","State":"succeeded""#), waits()),
        ("a key like a prototype", running(r#","__proto__":{"state":"succeeded"}"#), waits()),
        ("as deep as allowed", running(&nested(JSON_DEPTH_MAX - 1)), waits()),
        ("one deeper", running(&nested(JSON_DEPTH_MAX)), unreadable()),
        ("a hundred thousand deep", running(&nested(100_000)), unreadable()),
        ("half a million brackets", "[".repeat(500_000), unreadable()),
        ("half a million braces", r#"{"a":"#.repeat(200_000), unreadable()),
        ("a hundred thousand keys", running(&keys(100_000)), waits()),
        ("a long text", running(&format!(r#","x":"{}""#, "a".repeat(900_000))), waits()),
    ] {
        cases.push(Case::new("D14", what, http(200, &[], body), expect));
    }
    for (what, bad) in [
        ("Latin-1", &b"\xe9"[..]),
        ("overlong slash", b"\xc0\xaf"),
        ("encoded surrogate", b"\xed\xa0\x80"),
        ("cut character", b"\xe2\x82"),
        ("0xFF", b"\xff\xfe"),
    ] {
        let body = [br#"{"job_id":"$JOB","state":"running","x":""#, bad, b"\"}"].concat();
        cases.push(Case::new("D14", format!("{what}: no UTF-8"), http(200, &[], body.clone()), unreadable()));
        cases.push(Case::new("D30", format!("{what}: no UTF-8, 502"), http(502, &[], body), fails()));
    }
    cases.extend(sizes());
    cases
}

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn nested(depth: usize) -> String {
    format!(r#","x":{}{}"#, "[".repeat(depth), "]".repeat(depth))
}

fn keys(count: usize) -> String {
    (0..count).map(|n| format!(r#","{n:x}":0"#)).collect()
}

/// At the limit, and one byte beyond. The job's id is given, since its length counts.
fn sizes() -> Vec<Case> {
    [(0, waits()), (1, unreadable())]
        .into_iter()
        .map(|(more, expect)| {
            let job = format!("size-{more}");
            let body = RUNNING.replace("$JOB", &job);
            let body = format!("{body}{}", " ".repeat(BODY_BYTES_MAX + more - body.len()));
            Case::new("D14", format!("{more} bytes above the limit"), http(200, &[], body), expect).job(&job, &job)
        })
        .collect()
}

/// Content codings: `gzip` is undone, and nothing else (D14, D20).
pub(crate) fn codings() -> Vec<Case> {
    let undecodable = || faults(TransportFault::Undecodable);
    let mut cases = Vec::new();
    let mut case = |what: &str, coding: &str, body: fn(&[u8]) -> Vec<u8>, expect: Expect| {
        let job = format!("coding-{}", cases.len());
        let text = RUNNING.replace("$JOB", &job);
        let header = format!("content-encoding: {coding}");
        let answer = http(200, &[&header], body(text.as_bytes()));
        cases.push(Case::new("D14", what, answer, expect).job(&job, &job));
    };
    case("gzip", "gzip", gzip, waits());
    case("gzip in capitals", "GZip", gzip, waits());
    case("x-gzip", "x-gzip", gzip, waits());
    case("identity", "identity", <[u8]>::to_vec, waits());
    case("two members", "gzip", |body| [gzip(&body[..9]), gzip(&body[9..])].concat(), waits());
    case("plain that says gzip", "gzip", <[u8]>::to_vec, undecodable());
    case("gzip that says plain", "identity", gzip, unreadable());
    case("nothing that says gzip", "gzip", |_| Vec::new(), unknown());
    case("cut gzip", "gzip", |body| gzip(body)[..20].to_vec(), undecodable());
    case("gzip without its end", "gzip", |body| cut(gzip(body), 8), undecodable());
    case("gzip without its last byte", "gzip", |body| cut(gzip(body), 1), undecodable());
    case("gzip with a wrong sum", "gzip", |body| flipped(gzip(body)), undecodable());
    case("gzip with garbage behind", "gzip", |body| [&gzip(body)[..], b"garbage"].concat(), undecodable());
    case("gzip twice", "gzip, gzip", |body| gzip(&gzip(body)), undecodable());
    case("gzip twice, said once", "gzip", |body| gzip(&gzip(body)), unreadable());
    case("brotli", "br", <[u8]>::to_vec, undecodable());
    case("zstd", "zstd", <[u8]>::to_vec, undecodable());
    case("deflate", "deflate", <[u8]>::to_vec, undecodable());
    case("a coding that nobody knows", "x-evil", <[u8]>::to_vec, undecodable());
    let bomb = bomb();
    cases.push(Case::new("D14", "gzip bomb", http(200, &["content-encoding: gzip"], &bomb), unreadable()));
    cases.push(Case::new("D30", "gzip bomb with 503", http(503, &["content-encoding: gzip"], &bomb), fails()));
    cases
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// 1 GiB of zeros, in members of 4 MiB.
fn bomb() -> Vec<u8> {
    const MEMBER: usize = 4 << 20;
    gzip(&vec![0; MEMBER]).repeat(usize::try_from(GIB).unwrap() / MEMBER)
}

fn cut(mut bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - by);
    bytes
}

fn flipped(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = bytes.len() - 8;
    bytes[sum] ^= 1;
    bytes
}

/// Framing that lies (D14, D20).
pub(crate) fn framing() -> Vec<Case> {
    let head = |headers: &str| format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n");
    let lengthed = |length: &str| head(&format!("content-length: {length}\r\n"));
    let chunked = |body: &str| head("transfer-encoding: chunked\r\n") + body;
    let truncated = || faults(TransportFault::Truncated);
    let undecodable = || faults(TransportFault::Undecodable);
    let mut cases = vec![
        Case::new("D14", "no framing, closed", raw(whole(RUNNING)), waits()),
        Case::new("D20", "announces more", raw(lengthed("1000") + RUNNING), truncated().status(200)),
        Case::new("D20", "announces 1 GiB", raw(lengthed("1073741824") + RUNNING), truncated().status(200)),
        Case::new("D14", "announces less", raw(lengthed("10") + RUNNING), unreadable()),
        Case::new("D14", "announces nothing", raw(lengthed("0") + RUNNING), unknown()),
        Case::new(
            "D20",
            "announces more, the last one",
            raw(lengthed("1000") + RUNNING),
            truncated().and_asks(Reason::ProviderFailure),
        )
        .last(),
        Case::new("D20", "chunks without an end", raw(chunked("5\r\n{\"a\":\r\n")), truncated().status(200)),
        Case::new("D20", "half a chunk", raw(chunked("ff\r\n{\"a\":")), truncated().status(200)),
        Case::new("D20", "a chunk of no size", raw(chunked("xyz\r\n{}\r\n0\r\n\r\n")), undecodable().status(200)),
        Case::new(
            "D20",
            "a chunk too large to count",
            raw(chunked("fffffffffffffffff\r\n{}\r\n0\r\n\r\n")),
            undecodable().status(200),
        ),
    ];
    for (what, answer, expect) in [
        ("two lengths", head("content-length: 5\r\ncontent-length: 6\r\n") + "{}", undecodable()),
        ("a negative length", lengthed("-1"), undecodable()),
        ("a length with a sign", lengthed("+5") + "{}   ", undecodable()),
        ("a length that is none", lengthed("many"), undecodable()),
        ("a length too large to count", lengthed("99999999999999999999999"), undecodable()),
        ("no HTTP", "hello\r\n\r\n".to_owned(), undecodable()),
        ("SSH", "SSH-2.0-OpenSSH_9.6\r\n".to_owned(), undecodable()),
        ("HTTP/2", "HTTP/2 200\r\n\r\n".to_owned() + RUNNING, undecodable()),
        ("HTTP/0.9", RUNNING.to_owned(), undecodable()),
        ("ICY", "ICY 200 OK\r\n\r\n".to_owned(), undecodable()),
        ("a header without a colon", head("nonsense\r\n"), undecodable()),
        ("a header with a blank in its name", head("bad name: x\r\n"), undecodable()),
        ("a header with NUL", head("x: a\0b\r\n"), undecodable()),
        ("a folded header", head("retry-after:\r\n 60\r\n"), undecodable()),
        ("a bare carriage return in a header", head("x: a\rretry-after: 60\r\n"), undecodable()),
        ("101 headers", head(&"x: y\r\n".repeat(101)), undecodable()),
        ("a head of 1 MiB", head(&format!("x: {}\r\n", "y".repeat(1 << 20))), undecodable()),
        ("a head that never ends", format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(4 << 20)), undecodable()),
        ("a status line that never ends", format!("HTTP/1.1 200 {}", "y".repeat(4 << 20)), undecodable()),
    ] {
        cases.push(Case::new("D20", what, raw(answer), expect));
    }
    // The head was read, but it is longer than is kept: the state isn't trusted.
    let long = head(&format!("x: {}\r\n", "y".repeat(80_000))) + RUNNING;
    cases.push(Case::new("D14", "a head of 80 kB", raw(long), undecodable().status(200)));
    // Of a 429 or 503 that was cut off the status and its guidance count.
    for (status, expect) in [(429, throttled()), (503, truncated())] {
        let answer = format!("HTTP/1.1 {status} Told\r\nretry-after: 3600\r\ncontent-length: 1000\r\n\r\n{RUNNING}");
        let expect = Expect { fault: Some(TransportFault::Truncated), ..expect };
        cases.push(Case::new("D14", format!("cut {status}"), raw(answer), expect.retry_after(3_600_000)));
    }
    for status in [200, 202, 401, 404, 410, 500] {
        let answer = format!("HTTP/1.1 {status} Told\r\nretry-after: 3600\r\ncontent-length: 1000\r\n\r\n{RUNNING}");
        cases.push(Case::new("D14", format!("cut {status}"), raw(answer), truncated().status(status)));
    }
    cases
}

/// Connections that break off, hang and drag on (D20). One that drags on is over after the request's 2 s.
pub(crate) fn connections() -> Vec<Case> {
    let reset = || faults(TransportFault::Reset);
    let late = || faults(TransportFault::ReadTimeout);
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n";
    let part = &whole(RUNNING)[..20];
    let complete = vec![
        Part::Http { status: 200, headers: Vec::new(), body: RUNNING.into() },
        Part::Pause(Duration::from_millis(300)),
        Part::Reset,
    ];
    let ambiguous = Reason::AmbiguousDelivery;
    let mut cases = vec![
        Case::new("D20", "reset before the answer", vec![Part::Reset], reset()),
        Case::new("D20", "closed before the answer", raw(""), reset()),
        Case::new("D20", "reset before the answer, the last one", vec![Part::Reset], reset().and_asks(ambiguous))
            .last(),
        Case::new("D20", "closed in the head", raw(part), reset()),
        Case::new("D20", "reset in the head", raw_then(part, Part::Reset), reset()),
        Case::new("D20", "closed after the head", raw(head), faults(TransportFault::Truncated).status(200)),
        Case::new("D20", "reset after the body", complete, waits().status(200)),
        Case::new("D20", "hangs", vec![Part::Hang], late()).short(),
        Case::new("D20", "hangs, the last one", vec![Part::Hang], late().and_asks(ambiguous)).short().last(),
        Case::new("D20", "hangs in the head", raw_then(part, Part::Hang), late()).short(),
        Case::new("D20", "hangs after the head", raw_then(head, Part::Hang), late().status(200)).short(),
        Case::new("D20", "hangs in the body", raw_then(head.to_owned() + RUNNING, Part::Hang), late().status(200))
            .short(),
        Case::new("D20", "drips the head", vec![Part::Drip(whole(RUNNING).into())], late()).short(),
        Case::new("D20", "drips the body", raw_then(head, Part::Drip(b" ".to_vec())), late().status(200)).short(),
        Case::new(
            "D20",
            "drips without framing",
            raw_then(whole(RUNNING), Part::Drip(b" ".to_vec())),
            late().status(200),
        )
        .short(),
        Case::new(
            "D20",
            "drips interim answers",
            vec![Part::Drip(b"HTTP/1.1 102 Processing\r\n\r\n".to_vec())],
            late(),
        )
        .short(),
    ];
    for (what, sent) in [
        ("reset after the head", String::from(head)),
        ("reset in the body", head.to_owned() + RUNNING),
        // Without a length a reset is all that tells a body that was cut off from a whole one.
        ("reset in a body without framing", whole(RUNNING)),
    ] {
        let pause = Part::Pause(Duration::from_millis(300));
        let answer = vec![Part::Raw(sent.into_bytes()), pause, Part::Reset];
        cases.push(Case::new("D20", what, answer, reset().status(200)));
    }
    let answer = raw_then("HTTP/1.1 429 Told\r\nretry-after: 3600\r\ncontent-length: 9\r\n\r\n", Part::Hang);
    let expect = Expect { fault: Some(TransportFault::ReadTimeout), ..throttled() };
    cases.push(Case::new("D14", "429, then hangs", answer, expect.retry_after(3_600_000)).short());
    cases
}

/// More than anybody has memory for (D14): reading stops at the limit.
pub(crate) fn floods() -> Vec<Case> {
    let mut cases = Vec::new();
    for (status, expect) in [(200, unreadable()), (503, fails())] {
        for (what, framing, chunked) in [
            ("announced", "content-length: 1073741824\r\n", false),
            ("in chunks", "transfer-encoding: chunked\r\n", true),
            ("without framing", "", false),
        ] {
            let head = format!("HTTP/1.1 {status} Told\r\nconnection: close\r\n{framing}\r\n");
            let answer = raw_then(head, Part::Flood { bytes: GIB, chunked });
            cases.push(Case::new("D14", format!("1 GiB {what}, {status}"), answer, expect.clone().status(status)));
        }
    }
    cases
}
