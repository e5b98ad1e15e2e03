//! The file: what the answers come to, with its explanations where the format has a place for them.

use serde_json::{Map, Value, json};

use super::super::place;
use super::Answers;
use super::render::render;

/// What stands for a result in a sample.
const RESULT: &str = "result-1";
/// A word that stands in no table.
const UNLISTED: &str = "a-new-word";

/// The names in braces, in order, each once.
pub(super) fn parts(url: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in url.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name)) {
        if !name.is_empty() && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The contract's text: top-level fields in the order of the manual.
///
/// # Errors
/// A sentence where the address can't be one.
pub(super) fn text(answers: &Answers) -> Result<String, String> {
    let mut fields = fields(answers)?;
    fields.push(("samples", Value::Array(samples(answers))));
    let lines = fields.iter().map(|(name, value)| {
        let head = format!("  \"{name}\": ");
        format!("{head}{}", render(value, 2, head.len()))
    });
    Ok(format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n")))
}

fn fields(answers: &Answers) -> Result<Vec<(&'static str, Value)>, String> {
    let source = &answers.source;
    let mut fields = vec![
        ("format", json!("sondeo.contract/1")),
        ("id", json!(answers.id)),
        ("provider", json!(answers.provider)),
        ("sources", json!([source, "begun by `sondeo contract new`: cite the page itself in every `source` below"])),
        ("typical_duration", json!(span(answers.amounts.takes))),
        ("request", request(answers)),
        ("effects", json!({"kind": answers.effects, "known": answers.effects_known})),
    ];
    if answers.effects != "none" {
        // D5: such a request is asked about each time.
        fields.push(("approval", json!("per_request")));
    }
    fields.push(("origins", json!([origin(&answers.url)?])));
    let mut values = Map::new();
    for (outcome, words) in &answers.words {
        values.extend(words.iter().map(|word| (word.clone(), json!(outcome))));
    }
    let rule = json!({"map": {"at": answers.state, "values": values},
        "source": format!("{source}: the state words; one that stands here in no line stops the wait and asks a person")});
    fields.push(("decide", json!([rule])));
    if let (Some(echo), Some(part)) = (&answers.echo, parts(&answers.url).last()) {
        fields.push(("identity", json!([{"at": echo, "equals": format!("part:{part}")}])));
    }
    match &answers.result {
        Some(result) => {
            let why = format!(
                "{source}: the result; success without it contradicts itself and asks a person. Where it is an address that \
                 lets anybody in, add `\"secret\": true` to it in `result`"
            );
            fields.push(("success", json!({"require": [{"at": result}], "source": why})));
            fields.push(("result", json!({"result": {"at": result}})));
        }
        None => {
            let why = format!("{source}: success gives no reference to a result");
            fields.push(("success", json!({"no_result": true, "source": why})));
        }
    }
    let pace = json!({"first_delay": span(answers.amounts.first), "base": span(answers.amounts.first), "max": span(answers.amounts.max)});
    fields.push(("pace", pace));
    fields.push(("limits", limits(answers)));
    Ok(fields)
}

fn request(answers: &Answers) -> Value {
    let mut request = json!({"method": "GET", "url": answers.url, "id_parts": parts(&answers.url),
        "headers": {"accept": "application/json"}, "timeout": "20s"});
    if let (Some((header, prefix)), Some(members)) = (&answers.credential, request.as_object_mut()) {
        members.insert(
            "credential".to_owned(),
            match prefix.is_empty() {
                true => json!({"header": header}),
                false => json!({"header": header, "prefix": prefix}),
            },
        );
    }
    request
}

/// The one origin that requests and credential may go to: that of the address.
fn origin(address: &str) -> Result<Value, String> {
    let filled = address.replace(['{', '}'], "");
    let url = reqwest::Url::parse(&filled).map_err(|error| format!("--url `{address}`: {error}"))?;
    let origin = url.origin().ascii_serialization();
    Ok(match url.scheme() {
        // Without TLS only what is private can be meant.
        "http" => json!({"origin": origin, "allow_private": true}),
        _ => json!({"origin": origin}),
    })
}

fn limits(answers: &Answers) -> Value {
    let how = if answers.worked_out { "worked out from" } else { "given beside" };
    let why = format!(
        "{how} a usual time of {}: a look every {} at the longest, until {} have passed; change them to what the result is worth",
        span(answers.amounts.takes),
        span(answers.amounts.max),
        span(answers.amounts.deadline)
    );
    json!({
        "deadline": span(answers.amounts.deadline),
        "max_status_requests": answers.amounts.requests,
        "max_transport_failures": answers.failures,
        "max_throttles": answers.failures,
        "why": why,
        "extension": {"time": span(answers.amounts.takes), "requests": answers.amounts.requests.div_ceil(4), "failures": 2, "throttles": 2},
        "max_extensions": 1,
    })
}

/// A duration as contracts write it.
fn span(seconds: u64) -> String {
    match seconds {
        s if s.is_multiple_of(3600) => format!("{}h", s / 3600),
        s if s.is_multiple_of(60) => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

/// What each answer has to mean: every word, and what happens to everybody.
fn samples(answers: &Answers) -> Vec<Value> {
    let parts = parts(&answers.url);
    let job: Map<String, Value> = parts.iter().map(|part| (part.clone(), json!(format!("{part}-1")))).collect();
    let named =
        |name: &str, answer: Value, expect: &str| json!({"name": name, "answer": answer, "job": job, "expect": expect});
    let id = parts.last().map(|part| format!("{part}-1")).unwrap_or_default();
    let body = |word: Option<&str>, id: &str, with_result: bool| {
        let mut body = json!({});
        let mut put = |pointer: &String, text: &str| place::put(&mut body, pointer, json!(text));
        if let Some(echo) = &answers.echo {
            put(echo, id);
        }
        if let Some(result) = answers.result.as_ref().filter(|_| with_result) {
            put(result, RESULT);
        }
        if let Some(word) = word {
            put(&answers.state, word);
        }
        json!({"status": 200, "body": body})
    };
    let mut all = Vec::new();
    for (outcome, words) in &answers.words {
        let with_result = ["succeeded", "partial"].contains(outcome);
        for word in words {
            all.push(named(&format!("state word {word}"), body(Some(word), &id, with_result), outcome));
        }
    }
    let first =
        |wanted: &str| answers.words.iter().find(|(outcome, _)| *outcome == wanted).and_then(|(_, w)| w.first());
    if let (Some(word), Some(_)) = (first("succeeded"), &answers.result) {
        all.push(named("success without its result", body(Some(word), &id, false), "contradictory_response"));
    }
    if let (Some(word), Some(_)) = (first("pending"), &answers.echo) {
        all.push(named("another job", body(Some(word), "another", false), "identity_mismatch"));
    }
    all.push(named("a word that is listed nowhere", body(Some(UNLISTED), &id, false), "unknown"));
    all.push(named("no state word", body(None, &id, false), "unknown"));
    all.push(named("credential refused", json!({"status": 401}), "unauthorized"));
    all.push(named("not there", json!({"status": 404}), "not_found"));
    all.push(named("too many requests", json!({"status": 429, "headers": {"retry-after": "30"}}), "throttled"));
    all.push(named("gateway", json!({"status": 502}), "unavailable"));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_names_in_braces() {
        assert_eq!(parts("https://a.example/{org}/jobs/{job}?again={org}"), ["org", "job"]);
        assert!(parts("https://a.example/jobs/{}").is_empty());
    }

    #[test]
    fn an_origin_without_tls_is_a_private_one() {
        assert_eq!(origin("https://A.example:443/{x}").unwrap(), json!({"origin": "https://a.example"}));
        let private = json!({"origin": "http://127.0.0.1:81", "allow_private": true});
        assert_eq!(origin("http://127.0.0.1:81/{x}").unwrap(), private);
        assert!(origin("https://").is_err());
    }

    #[test]
    fn spans_are_written_in_their_largest_unit() {
        assert_eq!([span(90), span(120), span(7200)], ["90s", "2m", "2h"]);
    }
}
