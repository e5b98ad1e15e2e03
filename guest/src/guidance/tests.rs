use serde_json::{Value, json};

use super::*;
use crate::{
    api::Body,
    classify::tests::{answer, contract, seen, text},
};

const DAY_MS: u64 = 86_400_000;

fn received() -> Instant {
    Instant::parse_rfc3339("2026-03-02T12:00:00Z").unwrap()
}

fn after(ms: u64, source: DelaySource) -> Option<(Instant, DelaySource)> {
    Some((received().plus(ms), source))
}

fn guidance(hints: Value, headers: &[(&str, &str)], body: Value) -> Guidance {
    let contract = contract(&json!({ "hints": hints }));
    let body = if body.is_null() { Body::None } else { text(body) };
    read(&contract, &seen(&contract, &answer(200, headers, body)), received(), DAY_MS)
}

fn rejected(guidance: &Guidance) -> Vec<(&str, &str)> {
    guidance.rejected.iter().map(|rejected| (rejected.place.as_str(), rejected.why.as_str())).collect()
}

#[test]
fn d24_retry_after_is_always_read() {
    let plain = guidance(json!([]), &[("Retry-After", "120")], Value::Null);
    assert_eq!(plain.at, after(120_000, DelaySource::ProviderRetryAfter));
    assert!(plain.eta.is_none() && plain.rejected.is_empty());
    let date = guidance(json!([]), &[("retry-after", "Mon, 02 Mar 2026 12:05:00 GMT")], Value::Null);
    assert_eq!(date.at, after(300_000, DelaySource::ProviderRetryAfter));
}

#[test]
fn d24_of_several_valid_ones_the_latest_counts() {
    let hints = json!([{"at": "/wait", "unit": "s", "kind": "delay"}, {"at": "/next", "unit": "rfc3339", "kind": "at"},
        {"header": "x-wait-ms", "unit": "ms", "kind": "delay"}]);
    let both = guidance(
        hints.clone(),
        &[("Retry-After", "5"), ("X-Wait-Ms", "9000")],
        json!({"wait": 60, "next": "2026-03-02T12:00:30Z"}),
    );
    assert_eq!(both.at, after(60_000, DelaySource::ProviderPollHint));
    let header = guidance(hints.clone(), &[("Retry-After", "90")], json!({"wait": 60}));
    assert_eq!(header.at, after(90_000, DelaySource::ProviderRetryAfter));
    let tie = guidance(hints, &[("Retry-After", "60")], json!({"wait": 60}));
    assert_eq!(tie.at, after(60_000, DelaySource::ProviderRetryAfter));
}

#[test]
fn d24_an_eta_is_no_poll_time() {
    let hints = json!([{"at": "/eta", "unit": "s", "kind": "eta"}, {"at": "/eta2", "unit": "s", "kind": "eta"}]);
    let read = guidance(hints, &[], json!({"eta": 600, "eta2": 60}));
    assert_eq!((read.at, read.eta), (None, Some(received().plus(600_000))));
}

#[test]
fn d25_zero_past_null_and_absent_are_no_guidance() {
    let hints = json!([{"at": "/wait", "unit": "s", "kind": "delay"}]);
    for body in [json!({"wait": 0}), json!({"wait": null}), json!({})] {
        assert_eq!(guidance(hints.clone(), &[("Retry-After", "0")], body.clone()), Guidance::default(), "{body}");
    }
    let past = guidance(json!([]), &[("Retry-After", "Mon, 02 Mar 2026 11:00:00 GMT")], Value::Null);
    assert_eq!(past, Guidance::default());
}

#[test]
fn d25_what_is_not_by_its_grammar_is_rejected_and_the_rest_counts() {
    let hints =
        json!([{"at": "/wait", "unit": "s", "kind": "delay"}, {"at": "/next", "unit": "rfc3339", "kind": "at"}]);
    let read = guidance(hints, &[("Retry-After", "30s")], json!({"wait": -1, "next": "2026-03-02T12:01:00Z"}));
    assert_eq!(read.at, after(60_000, DelaySource::ProviderPollHint));
    assert_eq!(rejected(&read), [("header:retry-after", "neither digits nor an HTTP date"), ("/wait", "negative")]);
    for (value, why) in [("+5", "neither"), ("1.5", "neither"), ("", "neither"), ("-5", "negative")] {
        let read = guidance(json!([]), &[("Retry-After", value)], Value::Null);
        assert!(read.at.is_none() && read.rejected[0].why.starts_with(why), "{value}: {read:?}");
    }
    let long = "9".repeat(300);
    assert_eq!(
        rejected(&guidance(json!([]), &[("Retry-After", &long)], Value::Null)),
        [("header:retry-after", "too long")]
    );
}

#[test]
fn d25_a_header_that_stands_twice_is_invalid_even_with_equal_values() {
    let twice = guidance(json!([]), &[("Retry-After", "5"), ("retry-after", "5")], Value::Null);
    assert_eq!((twice.at, rejected(&twice)), (None, Vec::from([("header:retry-after", "stands twice")])));
}

#[test]
fn d25_above_max_hint_is_absurd_and_at_it_is_not() {
    for (seconds, valid) in [("86400", true), ("86401", false), ("99999999999999999999", false)] {
        let read = guidance(
            json!([{"at": "/eta", "unit": "s", "kind": "eta"}]),
            &[("Retry-After", seconds)],
            json!({"eta": 90_000}),
        );
        assert_eq!(read.at.is_some(), valid, "{seconds}");
        assert_eq!(read.eta, None);
        assert!(rejected(&read).contains(&("/eta", "absurd: beyond `max_hint`")));
        assert_eq!(read.rejected.len(), if valid { 1 } else { 2 });
    }
}

/// The end of a rate limit's window, which comes with every answer, counts where the contract says so and nowhere else.
#[test]
fn d24_a_hint_counts_at_its_statuses_only() {
    let hints = json!([{"header": "x-reset", "unit": "s", "kind": "delay", "code": ["4xx"]}]);
    let read = guidance(hints, &[("x-reset", "3000")], Value::Null);
    assert_eq!((read.at, read.rejected.len()), (None, 0), "the answer is a 200");
    let hints = json!([{"header": "x-reset", "unit": "s", "kind": "delay", "code": [200, 429]}]);
    assert!(guidance(hints, &[("x-reset", "3000")], Value::Null).at.is_some());
}
