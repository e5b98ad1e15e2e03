//! `watch`: open or go on, and wait in the foreground.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use super::args::OpenArgs;
use super::live::Live;
use super::{App, CliError, code, open, output, show};
use crate::component::types;
use crate::controller::{Controller, Tick};

/// How often another process's changes to the operation are looked for; reading sends nothing (D37).
const LOOK_MS: u64 = 1_000;
/// How long to rest after a failure that may pass by itself.
const REST: Duration = Duration::from_secs(2);

/// Opens an operation or finds it, and waits until it ends or somebody interrupts.
pub(super) async fn watch(app: &App, args: OpenArgs) -> Result<u8, CliError> {
    let (controller, opened) = open::begin(app, &args).await?;
    let live = Live::new(app.common.json);
    if !app.common.json {
        open::told(&opened)?;
    }
    let id = opened.operation.operation_id.clone();
    let mut interrupted = interrupts();
    let ended = follow(&controller, &id, &live, &mut interrupted).await;
    live.end();
    ended?;
    tell_end(app, &controller, &id)
}

/// Ticks until the operation has ended, or an interrupt came; a request in flight is finished first.
async fn follow(
    controller: &Controller,
    id: &str,
    live: &Live,
    interrupted: &mut Receiver<u32>,
) -> Result<(), CliError> {
    let mut said = None;
    loop {
        let tick = match controller.tick(id).await {
            Ok(tick) => tick,
            Err(error) if passes(&error) => {
                say_once(live, &mut said, &error.to_string());
                if pause(interrupted, REST).await {
                    return Ok(());
                }
                continue;
            }
            Err(crate::controller::ControlError::Faulted { .. }) => controller.tick(id).await?,
            Err(error) => return Err(error.into()),
        };
        for sentence in &tick.sentences {
            if !is_charge(sentence) {
                live.tell(sentence)?;
            }
        }
        if let Some(detail) = &tick.detail {
            say_once(live, &mut said, detail);
        }
        if over(&tick) {
            return Ok(());
        }
        let now = controller.store().now()?;
        live.show(&tick.operation, now);
        if *interrupted.borrow() > 0 || rest(controller, &tick, now, interrupted).await {
            live.note("interrupted; the operation stays, and the same command goes on with it");
            return Ok(());
        }
    }
}

/// A store without room, or locked, is tried again; nothing is sent meanwhile (I14).
pub(super) fn passes(error: &crate::controller::ControlError) -> bool {
    matches!(error, crate::controller::ControlError::Store(error) if error.may_pass())
}

fn say_once(live: &Live, said: &mut Option<String>, text: &str) {
    if said.as_deref() != Some(text) {
        live.note(&format!("note: {text}"));
        *said = Some(text.to_owned());
    }
}

/// A charge's line is shown on demand only (`show --all`).
pub(super) fn is_charge(sentence: &str) -> bool {
    sentence
        .split_once(' ')
        .is_some_and(|(_, rest)| rest.starts_with("sent request ") || rest.contains(" sent request "))
}

fn over(tick: &Tick) -> bool {
    tick.marked.is_some() || matches!(tick.operation.phase, types::Phase::Escalated(_) | types::Phase::Settled(_))
}

/// Sleeps until the next look; whether an interrupt ended it.
async fn rest(controller: &Controller, tick: &Tick, now: u64, interrupted: &mut Receiver<u32>) -> bool {
    let next = tick.operation.next_at.unwrap_or(now);
    // A due operation that could not be polled (no credential, say) is not looked at in a hot loop.
    let least = if next <= now && tick.action.is_none() { now.saturating_add(LOOK_MS) } else { now };
    let until = next.max(least).min(now.saturating_add(LOOK_MS));
    let clock = Arc::clone(controller.clock());
    tokio::select! {
        () = clock.sleep_until(until) => false,
        _ = interrupted.changed() => true,
    }
}

async fn pause(interrupted: &mut Receiver<u32>, time: Duration) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time) => false,
        _ = interrupted.changed() => true,
    }
}

/// Counts interrupts; the second ends the program at once and leaves what is in flight to its lease.
pub(super) fn interrupts() -> Receiver<u32> {
    let (sender, receiver) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        let mut seen = 0_u32;
        while signal().await {
            seen = seen.saturating_add(1);
            if seen > 1 {
                std::process::exit(i32::from(code::WAITING));
            }
            sender.send_replace(seen);
        }
    });
    receiver
}

#[cfg(unix)]
async fn signal() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended.is_ok(),
        came = terminate.recv() => came.is_some(),
    }
}

#[cfg(not(unix))]
async fn signal() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}

/// The end, for people or programs, and its exit code.
fn tell_end(app: &App, controller: &Controller, id: &str) -> Result<u8, CliError> {
    let stored = controller.stored(id)?;
    let (component, operation) = controller.view(&stored)?;
    let marked = stored.mark.is_some();
    let exit_code = output::exit_code(&operation, marked);
    let results = controller.results(&operation)?;
    let asks_or_informs = marked || matches!(operation.phase, types::Phase::Escalated(_));
    if app.common.json {
        let notice: Value = if asks_or_informs { show::notice_json(controller, &stored)? } else { Value::Null };
        output::json(&json!({
            "operation": output::twin(&component, "read", &json!({"record": stored.record}))?,
            "results": output::results_json(&results),
            "notice": notice,
            "exit_code": exit_code,
        }))?;
    } else if asks_or_informs {
        output::line(&show::notice_text(controller, &stored)?)?;
    } else {
        output::results(&operation, &results)?;
    }
    Ok(exit_code)
}
