//! The library of contracts against what real status APIs answer. Every file is a contract without a warning that opens by its
//! own defaults; the answers in `provider_samples.json`, each with what the provider's documentation says that it means, come
//! out so through the library's files, and through those of `contracts/good/` for providers that are not in it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sondeo_guest::{
    api::{Fault, Opening},
    contract::{AddressSpec, Contract, CtxKind, Outcome, Then, check, parse},
    limits, open,
    record::Record,
    request, samples,
    time::Instant,
};

const LIBRARY: &str = "host/contracts";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(folder: &str, name: &str) -> Option<String> {
    fs::read_to_string(root().join(folder).join(format!("{name}.json"))).ok()
}

/// The library's contracts by name, in order.
fn library() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join(LIBRARY)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let names = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
    let names = names.filter(|name| !name.ends_with(".schema.json")).filter_map(|name| name.strip_suffix(".json"));
    names.map(|name| (name.to_owned(), text(LIBRARY, name).unwrap())).collect()
}

fn told(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect()
}

const NOTHING: [String; 0] = [];

#[test]
fn the_library_has_the_contracts_that_it_should_have_under_their_own_names() {
    let names: Vec<String> = library().into_iter().map(|(name, _)| name).collect();
    let wanted = [
        "a2a.task",
        "anthropic.message_batches",
        "assemblyai.transcript",
        "azure.arm_async_operation",
        "azure.durable_functions",
        "databricks.job_run",
        "generic",
        "github.workflow_run",
        "gitlab.pipeline",
        "google.lro",
        "jenkins.queue_item",
        "kubernetes.job",
        "mcp.tasks_ext",
        "openai.batches",
        "openai.fine_tuning",
        "openai.responses_background",
        "replicate.predictions",
        "salesforce.bulk_ingest",
        "stripe.report_run",
        "terraform.run",
        "trino.statement",
    ];
    assert_eq!(names, wanted);
    for (name, text) in library() {
        assert_eq!(parse::parse(&text).unwrap().id, name);
    }
}

#[test]
fn every_contract_of_the_library_passes_schema_checks_and_its_samples_without_a_warning() {
    let schema = fs::read_to_string(root().join(LIBRARY).join("sondeo.contract-1.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    for (name, text) in library() {
        let errors: Vec<String> = schema
            .iter_errors(&serde_json::from_str(&text).unwrap())
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, NOTHING, "{name}");
        let contract = check::read(&text).unwrap_or_else(|faults| panic!("{name}: {:?}", told(&faults)));
        assert_eq!(told(&check::warnings(&contract)), NOTHING, "{name}");
        assert_eq!(told(&samples::run(&contract)), NOTHING, "{name}");
    }
}

/// Every outcome that the rules name: of the first stage, which the samples are answers to.
fn named(contract: &Contract) -> BTreeSet<Outcome> {
    let mut all = BTreeSet::new();
    for rule in &contract.decide {
        match &rule.then {
            Then::Outcome(outcome) => all.extend([*outcome]),
            Then::Map(map) => all.extend(map.values.values().chain(&map.missing).chain(&map.other).copied()),
        }
    }
    all
}

#[test]
fn the_samples_show_every_outcome_a_contract_names_and_the_ways_an_answer_goes_wrong() {
    for (name, text) in library() {
        let contract = parse::parse(&text).unwrap();
        let shown: BTreeSet<&str> = contract.samples.iter().map(|sample| sample.expect.as_str()).collect();
        let outcomes = named(&contract).into_iter().map(|outcome| outcome.as_str());
        let always = ["unknown", "unreadable_response", "unauthorized", "throttled", "unavailable"];
        let identity =
            contract.request.id_parts.first().filter(|_| echoes_a_part(&contract)).map(|_| "identity_mismatch");
        let missing: Vec<&str> = outcomes.chain(always).chain(identity).filter(|word| !shown.contains(word)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{name} shows {shown:?}");
    }
}

fn echoes_a_part(contract: &Contract) -> bool {
    use sondeo_guest::contract::EchoOf;
    contract.identity.iter().any(|echo| matches!(echo.of, EchoOf::Part(_)))
}

/// Facts that the opening must give, each with a word that it may have.
fn facts(contract: &Contract) -> BTreeMap<String, Vec<String>> {
    let word = |kind: &CtxKind| match kind {
        CtxKind::OneOf(words) | CtxKind::ListOf(words) => words.first().unwrap().clone(),
        CtxKind::Text => "x".into(),
        CtxKind::Time => "2027-01-15T08:00:00Z".into(),
    };
    let required = contract.ctx.iter().filter(|(_, spec)| spec.required);
    required.map(|(name, spec)| (name.clone(), vec![word(&spec.kind)])).collect()
}

fn opened(contract: &Contract, text: &str) -> Record {
    let from_opening = matches!(contract.request.address, AddressSpec::From(_));
    let opening: Opening = serde_json::from_value(json!({
        "operation_id": "op-1",
        "namespace": "default",
        "component": "0".repeat(64),
        "account": "default",
        "credential": contract.request.credential.as_ref().map(|_| "env:TOKEN"),
        "job": contract.request.id_parts.iter().map(|part| (part.clone(), "7".to_owned())).collect::<BTreeMap<_, _>>(),
        "address": from_opening.then(|| format!("{}/operations/7", contract.origins.first().unwrap().origin)),
        "ctx": facts(contract),
        "opened_by": "cli",
        "lease_ms": 60_000,
        "seed": "07".repeat(32),
        "sealing": true
    }))
    .unwrap();
    let at = Instant::parse_rfc3339("2027-01-15T08:00:00Z").unwrap();
    Record::parse(&open::open(text, &opening, at).unwrap().record).unwrap()
}

/// D2, D3: deadline and budgets come from the contract, last for the time they are given for, and leave room to extend.
#[test]
fn every_contract_opens_by_its_own_limits_without_a_warning_and_says_why_they_are_so() {
    for (name, text) in library() {
        let contract = parse::parse(&text).unwrap();
        let record = opened(&contract, &text);
        assert_eq!(record.warnings, NOTHING, "{name}");
        let limits = &contract.limits;
        assert!(limits.why.is_some() && limits.extension.is_some(), "{name}");
        assert!(limits.ceilings.deadline > limits.deadline, "{name}");
        assert!(limits.ceilings.max_status_requests > limits.max_status_requests, "{name}");
        assert!(record.max_status_requests < limits::BUDGET_MAX, "{name}");
    }
}

#[test]
fn a_status_request_with_a_body_sends_json_that_names_the_job() {
    for (name, text) in library() {
        let contract = parse::parse(&text).unwrap();
        let record = serde_json::to_string(&opened(&contract, &text)).unwrap();
        let plan = request::request(&text, &record).unwrap();
        assert_eq!(plan.body.is_some(), plan.method != "GET", "{name}");
        if let Some(body) = plan.body {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["params"]["taskId"], "7", "{name}");
            assert!(plan.headers.contains(&("mcp-name".into(), "7".into())), "{:?}", plan.headers);
        }
    }
}

/// Hosts that nobody has, which a user replaces: the first source says so, and nothing else of the file is another's.
#[test]
fn a_placeholder_origin_is_announced_in_the_first_source() {
    for (name, text) in library().into_iter().filter(|(name, _)| name != "generic") {
        let contract = parse::parse(&text).unwrap();
        let origin = &contract.origins.first().unwrap().origin;
        let placeholder = origin.split(':').nth(1).unwrap().ends_with(".example");
        let first = contract.sources.first().unwrap();
        let announced = format!("EDIT FIRST: the origin is a placeholder; replace every `{origin}`");
        assert_eq!(first.starts_with(&announced), placeholder, "{name}");
    }
}

/// The words of the sample file, in ours.
fn word(stated: &str) -> &str {
    match stated {
        "success" | "follow_result" => "succeeded",
        "failure" => "failed",
        "needs_human" => "needs_action",
        "transport" => "unavailable",
        // 410 for what was not to be deleted (D27).
        "invalid_response" => "job_expired",
        same => same,
    }
}

/// A contract of the library, or one that such a contract goes on under.
fn in_library(name: &str) -> Option<Value> {
    for (_, text) in library() {
        let mut contract: Value = serde_json::from_str(&text).unwrap();
        while !contract.is_null() {
            if contract["id"] == name {
                contract["format"] = json!("sondeo.contract/1");
                return Some(contract);
            }
            contract = contract["follow"]["contract"].take();
        }
    }
    None
}

#[test]
fn answers_of_real_status_apis_come_out_as_documented_through_the_files() {
    let all: Vec<Value> = serde_json::from_str(&text("tests", "provider_samples").unwrap()).unwrap();
    assert_eq!(all.len(), 52);
    let mut wrong = Vec::new();
    let (mut library, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for (index, stated) in all.iter().enumerate() {
        let name = stated["contract"].as_str().unwrap();
        let mut contract = match in_library(name) {
            Some(contract) => {
                library.insert(name);
                contract
            }
            None => {
                elsewhere.insert(name);
                let text =
                    text("tests/contracts/good", name).unwrap_or_else(|| panic!("there is no contract `{name}`"));
                serde_json::from_str(&text).unwrap()
            }
        };
        let expect = word(stated["expected"].as_str().unwrap());
        let mut sample = json!({"name": "stated", "answer": stated["answer"], "expect": expect});
        if let Some(ctx) = stated.get("ctx") {
            sample["ctx"] = ctx.clone();
        }
        contract["samples"] = json!([sample]);
        let contract =
            check::read(&contract.to_string()).unwrap_or_else(|faults| panic!("{name}: {:?}", told(&faults)));
        wrong
            .extend(told(&samples::run(&contract)).into_iter().map(|fault| format!("{name}, answer {index}: {fault}")));
    }
    assert_eq!(wrong, NOTHING);
    assert_eq!((library.len(), elsewhere.len()), (11, 12));
}
