//! References between the parts of a contract: identity, result, actions, guidance (D11, D13, D24, D36).

use alloc::format;

use super::{Stage, is_part};
use crate::contract::{CtxKind, EchoOf, HintKind, HintUnit};

pub(super) fn check(stage: &Stage<'_>) {
    identity(stage);
    results(stage);
    hints(stage);
    if stage.contract.cancel.as_ref().is_some_and(|cancel| cancel.effect.is_none()) {
        stage.add("/cancel", "lacks `effect`: what the provider documents that it does (D33)");
    }
}

fn identity(stage: &Stage<'_>) {
    for (i, echo) in stage.contract.identity.iter().enumerate() {
        let at = format!("/identity/{i}/equals");
        match &echo.of {
            EchoOf::Part(name) if !is_part(stage.contract, &echo.of) => {
                stage.add(at, format!("`{name}` is not in `request.id_parts`"));
            }
            EchoOf::Ctx(name) => match stage.contract.ctx.get(name).map(|spec| &spec.kind) {
                None => stage.add(at, format!("`{name}` is not declared in `ctx`")),
                Some(CtxKind::ListOf(_) | CtxKind::Time) => {
                    stage.add(at, format!("`{name}` is not one text that could be echoed"));
                }
                Some(CtxKind::OneOf(_) | CtxKind::Text) => {}
            },
            EchoOf::Part(_) | EchoOf::Account | EchoOf::First => {}
        }
    }
}

fn results(stage: &Stage<'_>) {
    let contract = stage.contract;
    for (name, reference) in &contract.result {
        if reference.url && contract.result_origins.is_empty() {
            stage.add(format!("/result/{name}"), "is a URL, and no `result_origins` says where it may lead (D11)");
        }
    }
    for (i, action) in contract.actions.iter().enumerate() {
        for (j, need) in action.needs.iter().enumerate() {
            if !contract.result.contains_key(need) {
                stage.add(format!("/actions/{i}/needs/{j}"), format!("`{need}` is not in `result`"));
            }
        }
    }
}

/// A delay is an amount, a point in time is a time; an expected completion may be either.
fn hints(stage: &Stage<'_>) {
    for (i, hint) in stage.contract.hints.iter().enumerate() {
        let amount = matches!(hint.unit, HintUnit::S | HintUnit::Ms);
        let message = match hint.kind {
            HintKind::Delay if !amount => "a `delay` is in `s` or `ms`",
            HintKind::At if amount => "an `at` is a time: `rfc3339`, `http_date`, `epoch_s` or `epoch_ms`",
            _ => continue,
        };
        stage.add(format!("/hints/{i}/unit"), message);
    }
}
