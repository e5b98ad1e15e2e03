//! State words, echoes, and ids.

use sondeo::component::types::Reason;

use super::case::{Case, RUNNING, asks, fails, http, settles, waits};

/// Values at the state that are no word of the contract, however alike (D9, D10).
const NOT_WORDS: &[&str] = &[
    "null",
    "true",
    "0",
    "1",
    "-1",
    "1e999",
    "[]",
    "{}",
    r#"["running"]"#,
    r#"["succeeded"]"#,
    r#"{"name":"running"}"#,
    r#""""#,
    r#"" ""#,
    r#""RUNNING""#,
    r#""Running""#,
    r#""SUCCEEDED""#,
    r#""Succeeded""#,
    r#"" running""#,
    r#""running ""#,
    r#""running\n""#,
    r#""running\u0000""#,
    r#""running\u0000succeeded""#,
    r#""succeeded ""#,
    r#""succeeded.""#,
    r#""unsuccessful""#,
    r#""unsucceeded""#,
    r#""not succeeded""#,
    r#""succeeded_with_errors""#,
    r#""success""#,
    r#""succeed""#,
    r#""run""#,
    r#""running|succeeded""#,
    r#""running,succeeded""#,
    // Look-alikes: Cyrillic, full width, a soft hyphen, a zero-width space, a combining mark, right to left.
    "\"runn\u{456}ng\"",
    "\"succ\u{435}eded\"",
    "\"\u{ff53}ucceeded\"",
    "\"suc\u{ad}ceeded\"",
    "\"succeeded\u{200b}\"",
    "\"succeede\u{301}d\"",
    "\"\u{202e}dedeeccus\"",
    "\"\u{feff}running\"",
    r#""runn\u0456ng""#,
    r#""\ud800""#,
    r#""null""#,
    r#""other""#,
    r#""missing""#,
    r#""unknown""#,
    r#""constructor""#,
    r#""__proto__""#,
];

/// The state is a word of the contract, whole and exact, or nothing that is known.
pub(crate) fn states() -> Vec<Case> {
    let body =
        |state: &str| format!(r#"{{"job_id":"$JOB","state":{state},"result_url":"https://files.example.com/a"}}"#);
    let case =
        |rule, state: &str, expect| Case::new(rule, format!("state {state:.60}"), http(200, &[], body(state)), expect);
    let mut cases: Vec<Case> = NOT_WORDS.iter().map(|state| case("D10", state, asks(Reason::UnknownState))).collect();
    cases.push(case("D10", &format!("\"{}\"", "running".repeat(10_000)), asks(Reason::UnknownState)));
    cases.push(Case::new("D9", "no state", http(200, &[], r#"{"job_id":"$JOB"}"#), asks(Reason::UnknownState)));
    for (state, expect) in [
        (r#""running""#, waits()),
        (r#""queued""#, waits()),
        (r#""runn\u0069ng""#, waits()),
        (r#""succeeded""#, settles()),
        (r#""s\u0075cceeded""#, settles()),
        (r#""failed""#, asks(Reason::JobFailed)),
        (r#""cancelled""#, asks(Reason::JobCancelled)),
        (r#""expired""#, asks(Reason::JobExpired)),
        (r#""partial""#, asks(Reason::PartialResult)),
        (r#""waiting""#, asks(Reason::NeedsAction)),
    ] {
        cases.push(case("D8", state, expect));
    }
    // D7: 200 alone says nothing, whatever else stands in the body; a word elsewhere is no state.
    for body in [
        r#"{"job_id":"$JOB","status":"running"}"#,
        r#"{"job_id":"$JOB","data":{"state":"running"}}"#,
        r#"{"job_id":"$JOB","/state":"running"}"#,
        r#"{"job_id":"$JOB","success":true,"result_url":"https://files.example.com/a"}"#,
        r#"{"job_id":"$JOB","error":"the disk is full"}"#,
    ] {
        cases.push(Case::new("D7", body, http(200, &[], body), asks(Reason::UnknownState)));
    }
    let error = r#"{"job_id":"$JOB","state":"failed","error":"\u001b[31m\u202eno\r\nX-Evil: 1\u0000"}"#;
    cases.push(Case::new("D35", "an error with control characters", http(200, &[], error), asks(Reason::JobFailed)));
    cases
}

/// Another job's answer is nobody's (D13).
pub(crate) fn echoes() -> Vec<Case> {
    let mut cases = Vec::new();
    for echo in [
        r#""another""#,
        r#""$JOB ""#,
        r#"" $JOB""#,
        r#""$JOB\u0000""#,
        r#""$JOB$JOB""#,
        r#""""#,
        "null",
        "1",
        "true",
        "[]",
        r#"["$JOB"]"#,
        r#"{"id":"$JOB"}"#,
    ] {
        for state in ["running", "succeeded", "failed"] {
            let body = format!(r#"{{"job_id":{echo},"state":"{state}","result_url":"https://files.example.com/a"}}"#);
            let what = format!("{state} of job {echo}");
            cases.push(Case::new("D13", what, http(200, &[], body), asks(Reason::IdentityMismatch)));
        }
    }
    let (without, other) = (r#"{"state":"running"}"#, r#"{"job_id":"another","state":"paused"}"#);
    let mismatch = || asks(Reason::IdentityMismatch);
    cases.extend([
        Case::new("D13", "no echo", http(200, &[], without), mismatch()),
        Case::new("D13", "another job, and no known state", http(200, &[], other), mismatch()),
        Case::new(
            "D13",
            "no echo, and no known state",
            http(200, &[], r#"{"state":"paused"}"#),
            asks(Reason::UnknownState),
        ),
        // D15: an error that no rule speaks of has an id of its own.
        Case::new("D15", "another id in a 500", http(500, &[], r#"{"job_id":"another"}"#), fails()),
        Case::new(
            "D15",
            "another id in a 401",
            http(401, &[], r#"{"job_id":"another"}"#),
            asks(Reason::AuthorizationDenied),
        ),
        Case::new("D13", "a tag in capitals", http(200, &[], RUNNING.replace("$JOB", "SHOUTED")), mismatch())
            .job("shouted", "shouted"),
    ]);
    cases
}

/// Ids that would be more than one segment, or less (D28): encoded whole.
pub(crate) fn ids() -> Vec<Case> {
    [
        ("a/b", "a%2Fb"),
        ("a//b", "a%2F%2Fb"),
        ("/etc/passwd", "%2Fetc%2Fpasswd"),
        ("a\\b", "a%5Cb"),
        ("..\\admin", "..%5Cadmin"),
        ("100%", "100%25"),
        ("%2F", "%252F"),
        ("%2e%2e%2fadmin", "%252e%252e%252fadmin"),
        ("%00", "%2500"),
        ("%0d%0aX-Evil: 1", "%250d%250aX-Evil%3A%201"),
        ("a?b=c&d", "a%3Fb%3Dc%26d"),
        ("a#b", "a%23b"),
        ("a b", "a%20b"),
        ("a;b", "a%3Bb"),
        ("a:b@c", "a%3Ab%40c"),
        ("http://evil.test/", "http%3A%2F%2Fevil.test%2F"),
        ("//evil.test", "%2F%2Fevil.test"),
        ("...", "..."),
        (".a", ".a"),
        ("a..b", "a..b"),
        ("{id}", "%7Bid%7D"),
        ("{account}", "%7Baccount%7D"),
        ("$(id)", "%24%28id%29"),
        ("'; DROP TABLE operations; --", "%27%3B%20DROP%20TABLE%20operations%3B%20--"),
        ("\"quoted\"", "%22quoted%22"),
        ("h\u{e9}", "h%C3%A9"),
        ("\u{2028}", "%E2%80%A8"),
        ("\u{202e}", "%E2%80%AE"),
        ("\u{1f4a5}", "%F0%9F%92%A5"),
        (" HTTP/1.1", "%20HTTP%2F1.1"),
    ]
    .into_iter()
    .map(|(id, segment)| {
        let echo = serde_json::to_string(id).unwrap();
        let body = format!(r#"{{"job_id":{echo},"state":"running"}}"#);
        Case::new("D28", format!("id `{id}`"), http(200, &[], body), waits()).job(id, segment)
    })
    .collect()
}

/// Ids that nothing is opened for (D28).
pub(crate) const REFUSED_IDS: &[&str] = &[
    "",
    ".",
    "..",
    "../admin",
    "a/../b",
    "a/./b",
    "a/..",
    "./a",
    "%2e",
    "%2E%2e",
    ".%2e",
    "a\r\nx-evil: 1",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\0b",
    "a\u{7f}",
    "a\u{85}x-evil: 1",
    "\u{1b}[31m",
];
