//! Statuses, guidance in headers and in bodies, redirects.

use sondeo::component::types::{Reason, TransportFault};

use super::case::{Case, Expect, RUNNING, asks, fails, http, raw, settles, throttled, waits};

/// Every status code that fits in three digits, with the body of a job that runs (D8, D15, D26 to D30).
pub(crate) fn statuses() -> Vec<Case> {
    let mut cases: Vec<Case> = (200..=599)
        .chain([600, 700, 999])
        .map(|status| {
            let (rule, expect) = status_means(status);
            // A 204 and a 304 have no body, whatever they announce (RFC 9112 6.3).
            Case::new(rule, format!("status {status}"), http(status, &[], RUNNING), expect.status(status))
        })
        .collect();
    // What comes before the answer is not the answer (RFC 9110 15.2).
    for status in [100, 102, 103, 199] {
        let answer = format!("HTTP/1.1 {status} Wait\r\nretry-after: 77\r\n\r\n{}", whole(RUNNING));
        cases.push(Case::new("D8", format!("{status}, then 200"), raw(answer), waits().status(200)));
    }
    let many = "HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n".repeat(50);
    cases.push(Case::new("D8", "103 fifty times, then 200", raw(many + &whole(RUNNING)), waits().status(200)));
    let undecodable = || super::case::faults(TransportFault::Undecodable);
    for status in ["099", "000", "1000", "20", "2x0", "-200", "+200", "two"] {
        let answer = format!("HTTP/1.1 {status} Told\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        cases.push(Case::new("D20", format!("status `{status}`"), raw(answer), undecodable()));
    }
    for (rule, status, reason) in [
        ("D20", 503, Reason::ProviderFailure),
        ("D20", 500, Reason::ProviderFailure),
        ("D20", 408, Reason::ProviderFailure),
        ("D21", 429, Reason::RateLimited),
        ("D19", 200, Reason::RequestBudgetExhausted),
    ] {
        let (_, expect) = status_means(status);
        let answer = http(status, &["retry-after: 3600"], RUNNING);
        cases.push(Case::new(rule, format!("{status}, the last one"), answer, expect.and_asks(reason)).last());
    }
    cases
}

/// Without a rule of the contract, which speaks of 2xx only.
fn status_means(status: u16) -> (&'static str, Expect) {
    match status {
        204 => ("D14", asks(Reason::UnknownState)),
        200..=299 => ("D28", waits()),
        401 | 403 | 407 => ("D26", asks(Reason::AuthorizationDenied)),
        404 => ("D27", asks(Reason::IntegrationFailure)),
        410 => ("D27", asks(Reason::JobExpired)),
        408 | 421 | 423 | 425 | 500..=599 => ("D30", fails()),
        429 => ("D30", throttled()),
        300..=399 => ("D29", asks(Reason::IntegrationFailure)),
        _ => ("D30", asks(Reason::IntegrationFailure)),
    }
}

/// An honest 200 as raw bytes; the id is as long as its placeholder is not, so the length is the connection's end.
pub(crate) fn whole(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
}

/// Lenient readings of a delay or a date, none of which is one (D25).
const NEAR_MISSES: &[&str] = &[
    "",
    "-1",
    "-120",
    "-",
    "+120",
    "120s",
    "120 s",
    "1 2",
    "1.5",
    "60.0",
    "1e3",
    "0x10",
    "1_000",
    "1,000",
    "120, 120",
    "120;",
    "\"120\"",
    "NaN",
    "Infinity",
    "inf",
    "null",
    "soon",
    "120\u{a0}",
    "\u{ff11}\u{ff12}\u{ff10}",
    "\u{661}\u{662}\u{660}",
    "PT2M",
    "2m",
    "2099-04-18T10:22:00Z",
    "Sun, 06 Nov 2094 08:49:37",
    "Sun, 06 Nov 2094 08:49:37 gmt",
    "Sun, 06 Nov 2094 08:49:37 UTC",
    "Sun, 06 Nov 2094 08:49:37 +0000",
    "Sun, 06 Nov 2094 08:49:37 EST",
    "Sun,06 Nov 2094 08:49:37 GMT",
    "Sun, 6 Nov 2094 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT",
    "sun, 06 nov 2094 08:49:37 gmt",
    "Son, 06 Nov 2094 08:49:37 GMT",
    "06 Nov 2094 08:49:37 GMT",
    "Sun, 06 Nov 2094 08:49 GMT",
    "Sun, 06 Nov 2094 24:00:00 GMT",
    "Sun, 31 Feb 2094 08:49:37 GMT",
    "Sun, 29 Feb 2100 08:49:37 GMT",
    "Sunday, 06-Nov-2094 08:49:37 GMT",
    "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06 Nov 94 08:49:37 GMT",
    "Sun Nov 6 08:49:37 2094",
    "Sun Nov  6 08:49:37 2094 GMT",
    "Sun Nov  6 08:49:37 94",
    "$IMF, $IMF",
    // Beyond `max_hint`: absurd.
    "90000",
    "999999999",
    "18446744073709551615",
    "18446744073709551616",
    "999999999999999999999999999999999999",
    "Fri, 31 Dec 9999 23:59:59 GMT",
];

/// Zero and past: no guidance, and nothing to reject (D25).
const NO_GUIDANCE: &[&str] = &[
    "0",
    "000",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "Mon, 01 Jan 0001 00:00:00 GMT",
];

/// `Retry-After` on an answer that waits, that refuses, and that throttles.
pub(crate) fn retry_after() -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds: [(u16, fn() -> Expect); 3] = [(200, waits), (503, fails), (429, throttled)];
    for (status, without) in kinds {
        let mut case = |rule, value: &str, expect: Expect| {
            let header = format!("retry-after: {value}");
            let what = format!("{status} Retry-After `{value}`");
            cases.push(Case::new(rule, what, http(status, &[&header], RUNNING), expect));
        };
        case("D24", "3600", without().retry_after(3_600_000));
        case("D24", "\t 3600 \t", without().retry_after(3_600_000));
        case("D24", "003600", without().retry_after(3_600_000));
        case("D25", "86400", without().retry_after(86_400_000));
        for form in ["$IMF", "$RFC850", "$ASCTIME"] {
            case("D24", form, without().retry_at());
        }
        for value in NEAR_MISSES {
            case("D25", value, without().rejects(1));
        }
        for value in NO_GUIDANCE {
            case("D25", value, without());
        }
    }
    for (what, headers) in [
        ("twice the same", &["retry-after: 60", "retry-after: 60"][..]),
        ("twice, one of them no delay", &["retry-after: 60", "Retry-After: soon"]),
        ("a hundred times less five", &["retry-after: 60"; 95]),
    ] {
        cases.push(Case::new("D25", what, http(200, headers, RUNNING), waits().rejects(1)));
    }
    // On a pending answer guidance goes up and down, on a refusal it is a minimum.
    let short = &["retry-after: 7"];
    cases.push(Case::new("D24", "sooner than the backoff", http(200, short, RUNNING), waits().retry_after(7_000)));
    cases.push(Case::new("D24", "sooner, but refused", http(503, short, RUNNING), fails()));
    // With valid guidance a 429 raises the exponent by one only.
    cases.push(Case::new(
        "D18",
        "sooner, but throttled",
        http(429, short, RUNNING),
        Expect { throttles: 1, ..waits() },
    ));
    cases
}

/// The contract's hints, of every type and unit; each stands in the body of a job that runs.
pub(crate) fn hints() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |rule, member: &str, expect: Expect| {
        let body = format!(r#"{{"job_id":"$JOB","state":"running",{member}}}"#);
        cases.push(Case::new(rule, format!("hint {member:.60}"), http(200, &[], body), expect));
    };
    for (member, ms) in [
        (r#""after_s":60"#, 60_000),
        (r#""after_s":60.5"#, 60_500),
        (r#""after_s":"60""#, 60_000),
        (r#""after_s":6e1"#, 60_000),
        (r#""after_s":0.0001"#, 1),
        (r#""after_s":86400"#, 86_400_000),
        (r#""after_ms":60000"#, 60_000),
        (r#""after_ms":60000.5"#, 60_001),
        (r#""after_ms":"60000""#, 60_000),
        (r#""after_ms":6E+4"#, 60_000),
        (r#""after_s":60,"after_ms":90000"#, 90_000),
        (r#""after_s":90,"after_ms":60000"#, 90_000),
    ] {
        case("D24", member, waits().hint(ms));
    }
    for member in [
        r#""at":"$RFC3339""#,
        r#""at_http":"$IMF""#,
        r#""at_http":"$RFC850""#,
        r#""at_http":"$ASCTIME""#,
        r#""at_s":$EPOCH_S"#,
        r#""at_s":"$EPOCH_S""#,
        r#""at_ms":$EPOCH_MS"#,
        r#""at_ms":"$EPOCH_MS""#,
        r#""eta":"$RFC3339""#,
    ] {
        case("D24", member, waits().hint_at());
    }
    for member in [
        r#""after_s":null"#,
        r#""after_s":0"#,
        r#""after_s":-0"#,
        r#""after_s":0e9"#,
        r#""at":"1990-01-01T00:00:00Z""#,
        r#""at_http":"Sun, 06 Nov 1994 08:49:37 GMT""#,
        r#""at_s":0"#,
        // Seconds where milliseconds stand: long past.
        r#""at_ms":$EPOCH_S"#,
        r#""eta":"1990-01-01T00:00:00Z""#,
        r#""eta":null"#,
    ] {
        case("D25", member, waits());
    }
    let long = format!(r#""after_s":"{}""#, "1".repeat(300));
    let digits = format!(r#""after_s":{}"#, "9".repeat(300));
    for member in [
        r#""after_s":-1"#,
        r#""after_s":-1e-9"#,
        r#""after_s":true"#,
        r#""after_s":[60]"#,
        r#""after_s":{"value":60}"#,
        r#""after_s":"NaN""#,
        r#""after_s":"Infinity""#,
        r#""after_s":"-Infinity""#,
        r#""after_s":"""#,
        r#""after_s":" 60""#,
        r#""after_s":"60 ""#,
        r#""after_s":"60s""#,
        r#""after_s":"+60""#,
        r#""after_s":"0x3c""#,
        r#""after_s":"6O""#,
        r#""after_s":1e400"#,
        r#""after_s":86400.001"#,
        r#""after_s":99999999999999999999999"#,
        r#""after_ms":1e308"#,
        r#""after_ms":-5"#,
        r#""after_ms":"5ms""#,
        r#""at":2099"#,
        r#""at":"tomorrow""#,
        r#""at":"2099-01-01T00:00:00Z""#,
        r#""at":"2026-02-30T00:00:00Z""#,
        r#""at":"2026-02-03 00:00:00Z""#,
        r#""at":"2026-02-03T00:00:00""#,
        r#""at":" $RFC3339""#,
        r#""at_http":60"#,
        r#""at_http":"60""#,
        r#""at_http":"$RFC3339""#,
        // Milliseconds where seconds stand: beyond all measure.
        r#""at_s":$EPOCH_MS"#,
        r#""at_s":-1"#,
        r#""at_s":"now""#,
        r#""eta":60"#,
        r#""eta":"9999-12-31T23:59:59Z""#,
        &long,
        &digits,
    ] {
        case("D25", member, waits().rejects(1));
    }
    case("D24", r#""after_s":60,"after_ms":-1"#, waits().hint(60_000).rejects(1));
    // No JSON, however much it looks like it; a key that stands twice can't be read either.
    for member in [
        r#""after_s":NaN"#,
        r#""after_s":Infinity"#,
        r#""after_s":+60"#,
        r#""after_s":.5"#,
        r#""after_s":060"#,
        r#""after_s":0x3c"#,
        r#""after_s":60,"after_s":60"#,
        r#""after_s":60,"after\u005fs":61"#,
    ] {
        case("D14", member, asks(Reason::UnreadableResponse));
    }
    cases.extend(header_hints());
    cases
}

fn header_hints() -> Vec<Case> {
    [
        (&["x-poll-after: 60"][..], waits().hint(60_000)),
        (&["X-POLL-AFTER: 60.25"], waits().hint(60_250)),
        (&["x-poll-after: 60", "retry-after: 90"], waits().retry_after(90_000)),
        (&["x-poll-after: 90", "retry-after: 60"], waits().hint(90_000)),
        (&["x-poll-after: 60", "retry-after: 60"], waits().retry_after(60_000)),
        (&["x-poll-after: 60", "retry-after: soon"], waits().hint(60_000).rejects(1)),
        (&["x-poll-after: 60", "x-poll-after: 60"], waits().rejects(1)),
        (&["x-poll-after: -60", "retry-after: -60"], waits().rejects(2)),
        (&["x-poll-after: 6 0"], waits().rejects(1)),
        (&["x-poll-after:"], waits().rejects(1)),
    ]
    .into_iter()
    .map(|(headers, expect)| Case::new("D24", format!("{headers:?}"), http(200, headers, RUNNING), expect))
    .collect()
}

/// Nothing is asked anywhere but where it was to be asked, and once (D28, D29).
pub(crate) fn redirects() -> Vec<Case> {
    let mut cases = Vec::new();
    let places = [
        "$ELSEWHERE/steal",
        "//$ELSEWHERE/steal",
        "$HERE/v1/jobs/another",
        "/v1/jobs/another",
        "another",
        "",
        "http://user:pass@127.0.0.1/",
        "https://127.0.0.1/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "\\\\evil\\share",
    ];
    for status in [300, 301, 302, 303, 305, 307, 308] {
        for place in places {
            let header = format!("location: {place}");
            let expect = asks(Reason::IntegrationFailure).status(status);
            cases.push(Case::new("D29", format!("{status} to `{place}`"), http(status, &[&header], ""), expect));
        }
    }
    for (rule, what, status, headers, expect) in [
        ("D28", "201 with a location", 201, &["location: $ELSEWHERE/steal"][..], waits()),
        ("D28", "202 with a location", 202, &["location: $ELSEWHERE/steal"], waits()),
        (
            "D28",
            "200 with every header that names an address",
            200,
            &[
                "refresh: 0; url=$ELSEWHERE/steal",
                "content-location: $ELSEWHERE/steal",
                "link: <$ELSEWHERE/steal>; rel=\"next\"",
                "alt-svc: http/1.1=\"$ELSEWHERE\"; ma=86400",
                "operation-location: $ELSEWHERE/steal",
            ],
            waits(),
        ),
        (
            "D26",
            "401 with a challenge",
            401,
            &["www-authenticate: Basic realm=\"$ELSEWHERE\""],
            asks(Reason::AuthorizationDenied),
        ),
        (
            "D26",
            "407 with a challenge",
            407,
            &["proxy-authenticate: Basic realm=\"$ELSEWHERE\""],
            asks(Reason::AuthorizationDenied),
        ),
        ("D29", "421 to another connection", 421, &["alt-svc: http/1.1=\"$ELSEWHERE\""], fails()),
        ("D29", "304 that nobody asked for", 304, &["etag: \"a\""], asks(Reason::IntegrationFailure)),
    ] {
        cases.push(Case::new(rule, what, http(status, headers, RUNNING), expect));
    }
    // D11: a result lies where the contract says that results lie.
    for (place, expect) in [
        ("https://files.example.com/a.csv", settles()),
        ("https://files.example.com:443/a.csv", settles()),
        ("$ELSEWHERE/a.csv", asks(Reason::ContradictoryResponse)),
        ("http://files.example.com/a.csv", asks(Reason::ContradictoryResponse)),
        ("https://files.example.com.evil.test/a.csv", asks(Reason::ContradictoryResponse)),
        ("https://user@files.example.com/a.csv", asks(Reason::ContradictoryResponse)),
        ("https://evil.test/https://files.example.com/", asks(Reason::ContradictoryResponse)),
        ("javascript:alert(1)", asks(Reason::ContradictoryResponse)),
        ("/a.csv", asks(Reason::ContradictoryResponse)),
        ("", asks(Reason::ContradictoryResponse)),
    ] {
        let body = format!(r#"{{"job_id":"$JOB","state":"succeeded","result_url":"{place}"}}"#);
        cases.push(Case::new("D11", format!("result at `{place}`"), http(200, &[], body), expect));
    }
    for result in ["null", "7", "true", "[]", "{}", r#"["https://files.example.com/a.csv"]"#] {
        let body = format!(r#"{{"job_id":"$JOB","state":"succeeded","result_url":{result}}}"#);
        let expect = asks(Reason::ContradictoryResponse);
        cases.push(Case::new("D11", format!("result {result}"), http(200, &[], body), expect));
    }
    let without = r#"{"job_id":"$JOB","state":"succeeded"}"#;
    cases.push(Case::new("D11", "no result", http(200, &[], without), asks(Reason::ContradictoryResponse)));
    cases
}
