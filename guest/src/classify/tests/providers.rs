//! Shapes of real status APIs, each with answers and what they must mean. Facts about the providers, rules as a contract
//! would write them; the answers are made up.

use super::*;

/// Name, `decide`, and answers: status, headers, body, facts, outcome.
type Provider = (&'static str, &'static str, &'static [Shape]);
type Shape = (u16, &'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);

const PROVIDERS: &[Provider] = &[
    (
        "github.workflow_run",
        r#"[{"when": {"test": [{"at": "/status", "is": "completed"}]}, "map": {"at": "/conclusion", "values": {"success": "succeeded", "failure": "failed", "startup_failure": "failed", "timed_out": "expired", "cancelled": "cancelled", "skipped": "cancelled", "neutral": "partial", "stale": "expired", "action_required": "needs_action"}}}, {"map": {"at": "/status", "values": {"queued": "pending", "in_progress": "pending", "requested": "pending", "pending": "pending", "waiting": "needs_action"}}}]"#,
        &[
            (
                200,
                &[],
                r#"{"id": 7, "status": "completed", "conclusion": "action_required", "run_attempt": 1}"#,
                r#"{}"#,
                "needs_action",
            ),
            (200, &[], r#"{"id": 7, "status": "completed", "conclusion": null}"#, r#"{}"#, "unknown"),
            (200, &[], r#"{"id": 7, "status": "in_progress", "conclusion": null}"#, r#"{}"#, "pending"),
        ],
    ),
    (
        "google.lro",
        r#"[{"when": {"test": [{"at": "/done", "is": true}, {"at": "/error/code", "is": 1}]}, "then": "cancelled"}, {"when": {"test": [{"at": "/done", "is": true}, {"at": "/error/code", "is": 4}]}, "then": "expired"}, {"when": {"test": [{"at": "/done", "is": true}, {"at": "/error", "present": true}]}, "then": "failed"}, {"when": {"test": [{"at": "/done", "is": true}, {"at": "/response", "present": true}]}, "then": "succeeded"}, {"when": {"test": [{"at": "/done", "is": true}]}, "then": "unknown"}, {"when": {"test": [{"at": "/name", "present": true}, {"at": "/error", "present": false}, {"at": "/response", "present": false}]}, "then": "pending"}]"#,
        &[
            (200, &[], r#"{"name": "operations/a1", "metadata": {"pct": 40}}"#, r#"{}"#, "pending"),
            (
                200,
                &[],
                r#"{"name": "operations/a1", "done": true, "error": {"code": 1, "message": "stop"}}"#,
                r#"{}"#,
                "cancelled",
            ),
            (200, &[], r#"{"name": "operations/a1", "done": true}"#, r#"{}"#, "unknown"),
            (200, &[], r#"{"name": "operations/a1", "done": true, "response": {}}"#, r#"{}"#, "succeeded"),
            (200, &[], r#"{"name": "operations/a1", "done": "true", "response": {}}"#, r#"{}"#, "unknown"),
        ],
    ),
    (
        "buildkite.build",
        r#"[{"when": {"test": [{"at": "/blocked", "is": true}]}, "then": "needs_action"}, {"map": {"at": "/state", "values": {"creating": "pending", "scheduled": "pending", "running": "pending", "failing": "pending", "canceling": "pending", "waiting": "pending", "passed": "succeeded", "failed": "failed", "waiting_failed": "failed", "blocked": "needs_action", "canceled": "cancelled", "skipped": "cancelled", "not_run": "cancelled"}}}]"#,
        &[
            (200, &[], r#"{"number": 12, "state": "passed", "blocked": true}"#, r#"{}"#, "needs_action"),
            (200, &[], r#"{"number": 12, "state": "passed", "blocked": false}"#, r#"{}"#, "succeeded"),
        ],
    ),
    (
        "kubernetes.job",
        r#"[{"when": {"any": {"at": "/status/conditions", "test": [{"at": "/type", "is": "Failed"}, {"at": "/status", "is": "True"}, {"at": "/reason", "is": "DeadlineExceeded"}]}}, "then": "expired"}, {"when": {"any": {"at": "/status/conditions", "test": [{"at": "/type", "is": "Failed"}, {"at": "/status", "is": "True"}]}}, "then": "failed"}, {"when": {"any": {"at": "/status/conditions", "test": [{"at": "/type", "is": "Complete"}, {"at": "/status", "is": "True"}]}}, "then": "succeeded"}, {"when": {"any": {"at": "/status/conditions", "test": [{"at": "/type", "is": "Suspended"}, {"at": "/status", "is": "True"}]}}, "then": "needs_action"}, {"when": {"test": [{"at": "/kind", "is": "Job"}]}, "then": "pending"}]"#,
        &[
            (200, &[], r#"{"kind": "Job", "status": {"active": 1}}"#, r#"{}"#, "pending"),
            (
                200,
                &[],
                r#"{"kind": "Job", "status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}}"#,
                r#"{}"#,
                "pending",
            ),
            (
                200,
                &[],
                r#"{"kind": "Job", "status": {"conditions": [{"type": "Suspended", "status": "False"}, {"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}}"#,
                r#"{}"#,
                "expired",
            ),
        ],
    ),
    (
        "trino.statement",
        r#"[{"when": {"code": [502, 503, 504]}, "then": "unavailable"}, {"when": {"code": 429}, "then": "throttled"}, {"when": {"code": 200, "test": [{"at": "/error", "present": true}]}, "then": "failed"}, {"when": {"code": 200, "test": [{"at": "/id", "present": true}, {"at": "/nextUri", "present": true}]}, "then": "pending"}, {"when": {"code": 200, "test": [{"at": "/id", "present": true}, {"at": "/nextUri", "present": false}]}, "then": "succeeded"}, {"when": {"code": ["4xx", "5xx"]}, "then": "failed"}]"#,
        &[
            (
                200,
                &[],
                r#"{"id": "q1", "nextUri": "https://h/q1/2", "stats": {"state": "FINISHED"}}"#,
                r#"{}"#,
                "pending",
            ),
            (200, &[], r#"{"id": "q1", "stats": {"state": "RUNNING"}}"#, r#"{}"#, "succeeded"),
            (200, &[], r#"{"id": "q1", "error": {"errorName": "X"}}"#, r#"{}"#, "failed"),
        ],
    ),
    (
        "osb.last_operation",
        r#"[{"when": {"code": 410, "ctx": {"operation": "delete"}}, "then": "succeeded"}, {"when": {"code": 410}, "then": "unknown"}, {"when": {"code": 200}, "map": {"at": "/state", "values": {"in progress": "pending", "succeeded": "succeeded", "failed": "failed"}}}, {"then": "unknown"}]"#,
        &[
            (410, &[], r#""#, r#"{"operation": "delete"}"#, "succeeded"),
            (410, &[], r#""#, r#"{"operation": "create"}"#, "unknown"),
            (200, &[], r#"{"state": "in progress"}"#, r#"{}"#, "pending"),
        ],
    ),
    (
        "azure.durable_functions",
        r#"[{"when": {"code": [200, 202, 500], "test": [{"at": "/runtimeStatus", "present": true}]}, "map": {"at": "/runtimeStatus", "values": {"Running": "pending", "Pending": "pending", "ContinuedAsNew": "pending", "Suspended": "needs_action", "Completed": "succeeded", "Failed": "failed", "Canceled": "cancelled", "Terminated": "cancelled"}}}, {"when": {"code": 404}, "then": "not_found"}, {"when": {"code": "5xx"}, "then": "unavailable"}]"#,
        &[
            (500, &[], r#"{"runtimeStatus": "Failed", "output": "x"}"#, r#"{}"#, "failed"),
            (500, &[], r#"gateway"#, r#"{}"#, "unavailable"),
        ],
    ),
    (
        "azure.arm_async_operation",
        r#"[{"when": {"code": ["4xx", "5xx"]}, "then": "unavailable"}, {"when": {"code": 200}, "map": {"at": "/status", "values": {"succeeded": "succeeded", "failed": "failed", "canceled": "cancelled", "cancelled": "cancelled"}, "missing": "unknown", "other": "pending", "fold": true}}]"#,
        &[
            (200, &[], r#"{"status": "WarmingCaches"}"#, r#"{}"#, "pending"),
            (200, &[], r#"{"status": "CANCELLED"}"#, r#"{}"#, "cancelled"),
            (200, &[], r#"{}"#, r#"{}"#, "unknown"),
        ],
    ),
    (
        "azure.provisioning_state",
        r#"[{"when": {"code": 404, "ctx": {"operation": "delete"}}, "then": "succeeded"}, {"when": {"code": 200, "test": [{"at": "/id", "present": true}]}, "map": {"at": "/properties/provisioningState", "values": {"succeeded": "succeeded", "failed": "failed", "canceled": "cancelled", "cancelled": "cancelled"}, "missing": "succeeded", "other": "pending", "fold": true}}]"#,
        &[
            (200, &[], r#"{"id": "/r/1", "properties": {}}"#, r#"{}"#, "succeeded"),
            (200, &[], r#"{"properties": {}}"#, r#"{}"#, "unknown"),
        ],
    ),
    (
        "anthropic.message_batches",
        r#"[{"when": {"test": [{"at": "/processing_status", "is": "ended"}, {"at": "/archived_at", "present": true}]}, "then": "expired"}, {"when": {"test": [{"at": "/processing_status", "is": "ended"}, {"at": "/request_counts/errored", "is": 0}, {"at": "/request_counts/canceled", "is": 0}, {"at": "/request_counts/expired", "is": 0}]}, "then": "succeeded"}, {"when": {"test": [{"at": "/processing_status", "is": "ended"}, {"at": "/request_counts/succeeded", "above": 0}]}, "then": "partial"}, {"when": {"test": [{"at": "/processing_status", "is": "ended"}, {"at": "/request_counts/canceled", "above": 0}]}, "then": "cancelled"}, {"when": {"test": [{"at": "/processing_status", "is": "ended"}, {"at": "/request_counts/expired", "above": 0}]}, "then": "expired"}, {"when": {"test": [{"at": "/processing_status", "is": "ended"}]}, "then": "failed"}, {"map": {"at": "/processing_status", "values": {"in_progress": "pending", "canceling": "pending"}}}]"#,
        &[
            (
                200,
                &[],
                r#"{"processing_status": "ended", "archived_at": null, "results_url": "u", "request_counts": {"succeeded": 8, "errored": 2, "canceled": 0, "expired": 0, "processing": 0}}"#,
                r#"{}"#,
                "partial",
            ),
            (
                200,
                &[],
                r#"{"processing_status": "ended", "archived_at": null, "request_counts": {"succeeded": 0, "errored": 0, "canceled": 5, "expired": 0}}"#,
                r#"{}"#,
                "cancelled",
            ),
            (200, &[], r#"{"processing_status": "paused"}"#, r#"{}"#, "unknown"),
        ],
    ),
    (
        "mcp.tasks_ext",
        r#"[{"when": {"test": [{"at": "/error/code", "is": -32602}]}, "then": "not_found"}, {"when": {"test": [{"at": "/error", "present": true}]}, "then": "unavailable"}, {"when": {"test": [{"at": "/result/status", "is": "completed"}, {"at": "/result/result/isError", "is": true}]}, "then": "failed"}, {"map": {"at": "/result/status", "values": {"working": "pending", "input_required": "needs_action", "completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}}}]"#,
        &[
            (
                200,
                &[],
                r#"{"jsonrpc": "2.0", "id": 3, "result": {"taskId": "t", "status": "completed", "result": {"isError": true}}}"#,
                r#"{}"#,
                "failed",
            ),
            (
                200,
                &[],
                r#"{"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "gone"}}"#,
                r#"{}"#,
                "not_found",
            ),
        ],
    ),
    (
        "jenkins.queue_item",
        r#"[{"when": {"code": 404}, "then": "not_found"}, {"when": {"test": [{"at": "/cancelled", "is": true}]}, "then": "cancelled"}, {"when": {"test": [{"at": "/executable/url", "present": true}]}, "then": "follow"}, {"when": {"test": [{"at": "/id", "present": true}]}, "then": "pending"}]"#,
        &[(
            200,
            &[],
            r#"{"id": 5, "why": null, "executable": {"number": 9, "url": "https://h/job/x/9/"}}"#,
            r#"{}"#,
            "follow",
        )],
    ),
    (
        "jenkins.build",
        r#"[{"when": {"test": [{"at": "/building", "is": true}]}, "then": "pending"}, {"when": {"test": [{"at": "/inProgress", "is": true}]}, "then": "pending"}, {"map": {"at": "/result", "values": {"SUCCESS": "succeeded", "UNSTABLE": "partial", "FAILURE": "failed", "NOT_BUILT": "cancelled", "ABORTED": "cancelled"}}}]"#,
        &[
            (200, &[], r#"{"building": true, "inProgress": true, "result": "FAILURE"}"#, r#"{}"#, "pending"),
            (200, &[], r#"{"building": false, "inProgress": true, "result": "SUCCESS"}"#, r#"{}"#, "pending"),
        ],
    ),
    (
        "terraform.run",
        r#"[{"when": {"test": [{"at": "/data/attributes/status", "is": ["planned", "cost_estimated", "policy_checked", "post_plan_completed"]}, {"at": "/data/attributes/actions/is-confirmable", "is": true}]}, "then": "needs_action"}, {"map": {"at": "/data/attributes/status", "values": {"planned": "pending", "applied": "succeeded", "errored": "failed"}}}]"#,
        &[
            (
                200,
                &[],
                r#"{"data": {"attributes": {"status": "planned", "actions": {"is-confirmable": true}}}}"#,
                r#"{}"#,
                "needs_action",
            ),
            (
                200,
                &[],
                r#"{"data": {"attributes": {"status": "planned", "actions": {"is-confirmable": false}}}}"#,
                r#"{}"#,
                "pending",
            ),
        ],
    ),
    (
        "fivetran.sync",
        r#"[{"when": {"test": [{"at": "/data/paused", "is": true}]}, "then": "needs_action"}, {"when": {"after": {"at": "/data/failed_at", "format": "rfc3339", "ctx": "t0"}}, "then": "failed"}, {"when": {"after": {"at": "/data/succeeded_at", "format": "rfc3339", "ctx": "t0"}}, "then": "succeeded"}, {"when": {"test": [{"at": "/data/id", "present": true}]}, "then": "pending"}]"#,
        &[
            (
                200,
                &[],
                r#"{"data": {"id": "c", "paused": false, "succeeded_at": "2026-12-01T08:00:00Z", "failed_at": null}}"#,
                r#"{"t0": "2026-12-01T09:00:00Z"}"#,
                "pending",
            ),
            (
                200,
                &[],
                r#"{"data": {"id": "c", "paused": false, "succeeded_at": "2026-12-01T09:20:00Z", "failed_at": "2026-11-30T01:00:00Z"}}"#,
                r#"{"t0": "2026-12-01T09:00:00Z"}"#,
                "succeeded",
            ),
        ],
    ),
    (
        "fly.machine",
        r#"[{"when": {"code": 408}, "then": "pending"}, {"when": {"test": [{"at": "/state", "in_ctx": "expected"}]}, "then": "succeeded"}, {"map": {"at": "/state", "values": {"created": "pending", "starting": "pending", "stopping": "pending", "failed": "failed", "destroyed": "cancelled", "stopped": "unknown"}}}]"#,
        &[
            (200, &[], r#"{"state": "stopped"}"#, r#"{"expected": ["stopped"]}"#, "succeeded"),
            (408, &[], r#""#, r#"{"expected": ["started"]}"#, "pending"),
        ],
    ),
    (
        "jsonapi.async",
        r#"[{"when": {"code": 303, "test": [{"header": "location", "present": true}]}, "then": "succeeded"}, {"when": {"code": 200}, "then": "pending"}]"#,
        &[
            (303, &[("location", "https://h/r/1")], r#""#, r#"{}"#, "succeeded"),
            (200, &[], r#"{"data": {}}"#, r#"{}"#, "pending"),
        ],
    ),
    (
        "snowflake.statement",
        r#"[{"when": {"code": 202}, "then": "pending"}, {"when": {"code": 200}, "then": "succeeded"}, {"when": {"code": 422}, "then": "failed"}, {"when": {"code": 429}, "then": "throttled"}]"#,
        &[(202, &[], r#"{"statementHandle": "h"}"#, r#"{}"#, "pending")],
    ),
    (
        "bfl.get_result",
        r#"[{"when": {"code": 200}, "map": {"at": "/status", "values": {"Pending": "pending", "Ready": "succeeded", "Error": "failed", "Request Moderated": "failed", "Content Moderated": "failed", "Task not found": "not_found"}}}]"#,
        &[
            (200, &[], r#"{"id": "x", "status": "Task not found"}"#, r#"{}"#, "not_found"),
            (200, &[], r#"{"id": "x", "status": "Generating"}"#, r#"{}"#, "unknown"),
        ],
    ),
    (
        "dbt.run",
        r#"[{"when": {"test": [{"at": "/data/status", "is": [1, 2, 3]}]}, "then": "pending"}, {"when": {"test": [{"at": "/data/status", "is": [10]}]}, "then": "succeeded"}, {"when": {"test": [{"at": "/data/status", "is": [20]}]}, "then": "failed"}, {"when": {"test": [{"at": "/data/status", "is": [30]}]}, "then": "cancelled"}]"#,
        &[(200, &[], r#"{"status": {"code": 200, "is_success": true}, "data": {"status": 20}}"#, r#"{}"#, "failed")],
    ),
    (
        "ivoa.uws",
        r#"[{"when": {"code": 200}, "map": {"at": "", "values": {"QUEUED": "pending", "EXECUTING": "pending", "SUSPENDED": "pending", "PENDING": "needs_action", "HELD": "needs_action", "COMPLETED": "succeeded", "ERROR": "failed", "ABORTED": "cancelled", "ARCHIVED": "expired", "UNKNOWN": "unknown"}}}]"#,
        &[(200, &[], r#"EXECUTING"#, r#"{}"#, "pending")],
    ),
    (
        "firecrawl.crawl",
        r#"[{"when": {"code": 404, "test": [{"at": "/error", "is": "Job expired"}]}, "then": "expired"}, {"when": {"code": 404}, "then": "not_found"}, {"map": {"at": "/status", "values": {"scraping": "pending", "completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}}}]"#,
        &[
            (404, &[], r#"{"success": false, "error": "Job expired"}"#, r#"{}"#, "expired"),
            (404, &[], r#"{"success": false, "error": "Job not found"}"#, r#"{}"#, "not_found"),
        ],
    ),
    (
        "github.check_run",
        r#"[{"when": {"any": {"at": "/check_runs", "test": [{"at": "/conclusion", "is": ["failure", "startup_failure", "timed_out"]}]}}, "then": "failed"}, {"when": {"any": {"at": "/check_runs", "test": [{"at": "/conclusion", "is": "action_required"}]}}, "then": "needs_action"}, {"when": {"all": {"at": "/check_runs", "test": [{"at": "/status", "is": "completed"}, {"at": "/conclusion", "is": ["success", "neutral", "skipped"]}]}}, "then": "succeeded"}, {"when": {"test": [{"at": "/check_runs", "present": true}]}, "then": "pending"}]"#,
        &[
            (200, &[], r#"{"check_runs": []}"#, r#"{}"#, "pending"),
            (
                200,
                &[],
                r#"{"check_runs": [{"status": "completed", "conclusion": "success"}, {"status": "in_progress", "conclusion": null}]}"#,
                r#"{}"#,
                "pending",
            ),
            (
                200,
                &[],
                r#"{"check_runs": [{"status": "completed", "conclusion": "success"}, {"status": "completed", "conclusion": "skipped"}]}"#,
                r#"{}"#,
                "succeeded",
            ),
        ],
    ),
];

#[test]
fn d8_answers_of_real_status_apis_mean_what_their_documentation_says() {
    let facts = json!({
        "operation": {"text": true}, "expected": {"list_of": ["started", "stopped"]}, "t0": {"time": true}
    });
    for (name, decide, shapes) in PROVIDERS {
        let decide: Value = serde_json::from_str(decide).unwrap();
        let reads = if *name == "ivoa.uws" { "text" } else { "json" };
        let contract = contract(&json!({"decide": decide, "ctx": facts, "reads": reads,
            "success": {"no_result": true, "source": "docs"}, "result": {}}));
        for (status, headers, body, ctx, outcome) in *shapes {
            let ctx: BTreeMap<String, Value> = serde_json::from_str(ctx).unwrap();
            let all = |value: Value| match value {
                Value::Array(all) => all.iter().map(|word| word.as_str().unwrap().to_string()).collect(),
                one => Vec::from([one.as_str().unwrap().to_string()]),
            };
            let world =
                World { ctx: ctx.into_iter().map(|(name, value)| (name, all(value))).collect(), ..World::default() };
            let body = if body.is_empty() { Body::None } else { text(body) };
            let judgement = world.judge(&contract, &answer(*status, headers, body.clone()));
            let expected = Judged::Is(Outcome::from_word(outcome).unwrap());
            assert_eq!(judgement.judged, expected, "{name}: {status} {body:?}: {:?}", judgement.notes);
        }
    }
}
