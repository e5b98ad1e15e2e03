//! `run`: work off what is due, whatever operation it belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use tokio::sync::watch::Receiver;

use super::args::RunArgs;
use super::{App, CliError, code, output, show, watch};
use crate::controller::{ControlError, Controller, Tick};

/// How often other processes' openings are looked for.
const LOOK_MS: u64 = 1_000;

/// What a run remembers.
#[derive(Default)]
struct Round {
    /// The exit code of each operation that was worked on.
    codes: BTreeMap<String, u8>,
    /// What was said last of an operation that can't go on at present.
    said: BTreeMap<String, String>,
    /// Operations that this process can do nothing for, such as one whose record is damaged (D47).
    aside: BTreeSet<String>,
}

impl Round {
    /// Says it once, by name.
    fn say(&mut self, id: &str, text: String) {
        if self.said.get(id) != Some(&text) {
            output::note(&text);
            self.said.insert(id.to_owned(), text);
        }
    }

    fn put_aside(&mut self, id: &str, text: String) {
        self.say(id, text);
        self.codes.insert(id.to_owned(), code::FAILED);
        self.aside.insert(id.to_owned());
    }
}

/// Works until nothing waits any more, or once; the worst exit code of what it worked on.
pub(super) async fn run(app: &App, args: &RunArgs) -> Result<u8, CliError> {
    let controller = app.controller().await?;
    let mut interrupted = watch::interrupts();
    let mut round = Round::default();
    loop {
        let now = controller.store().now()?;
        let waiting = controller.waiting(now, &round.aside)?;
        for row in &waiting.damaged {
            round.put_aside(&row.operation_id, show::unlisted(row));
        }
        let due = waiting.due;
        work(app, &controller, &due, (usize::from(args.concurrency), &interrupted), &mut round).await?;
        let stop = *interrupted.borrow() > 0;
        if stop || !waiting.any || (args.once && due.is_empty()) {
            break;
        }
        let now = controller.store().now()?;
        let until = waiting.next.unwrap_or(now).max(now).min(now.saturating_add(LOOK_MS));
        let clock = Arc::clone(controller.clock());
        if due.is_empty() {
            tokio::select! {
                () = clock.sleep_until(until) => {}
                _ = interrupted.changed() => break,
            }
        }
    }
    let worst = worst(round.codes.values().copied());
    if app.common.json {
        output::json(&json!({"operations": round.codes, "exit_code": worst}))?;
    }
    Ok(worst)
}

/// Ticks each once; what fails for one is said and stops no other. An interrupt starts no further one.
async fn work(
    app: &App,
    controller: &Controller,
    ids: &[String],
    (concurrency, interrupted): (usize, &Receiver<u32>),
    round: &mut Round,
) -> Result<(), CliError> {
    let mut ticks = stream::iter(ids)
        .take_while(|_| std::future::ready(*interrupted.borrow() == 0))
        .map(|id| async move { (id, controller.tick(id).await) })
        .buffer_unordered(concurrency);
    let mut stuck = false;
    while let Some((id, tick)) = ticks.next().await {
        match tick {
            Ok(tick) => {
                stuck |= tick.action.is_none();
                told(app, id, &tick, round)?;
                round.codes.insert(id.clone(), output::exit_code(&tick.operation, tick.marked.is_some()));
            }
            // The mark of a component that failed takes it out by itself; what may pass is tried again.
            Err(error) if watch::passes(&error) || matches!(error, ControlError::Faulted { .. }) => {
                stuck = true;
                round.say(id, format!("{id}: {error}"));
                round.codes.insert(id.clone(), code::FAILED);
            }
            Err(error) => {
                let text = error.to_string();
                round.put_aside(id, if text.contains(&**id) { text } else { format!("{id}: {text}") });
            }
        }
    }
    if stuck {
        tokio::time::sleep(std::time::Duration::from_millis(LOOK_MS)).await;
    }
    Ok(())
}

fn told(app: &App, id: &str, tick: &Tick, round: &mut Round) -> Result<(), CliError> {
    let short = id.get(..8).unwrap_or(id);
    for sentence in tick.sentences.iter().filter(|sentence| !watch::is_charge(sentence)) {
        let text = format!("{short}  {sentence}");
        if app.common.json { output::note(&text) } else { output::line(&text)? }
    }
    if let Some(detail) = &tick.detail {
        round.say(id, format!("{short}  note: {detail}"));
    }
    Ok(())
}

/// Asks before ended before failed before waiting before done: what a person should look at first.
fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    let rank = |exit: u8| match exit {
        code::FAILED => 5,
        code::ASKS => 4,
        code::ENDED => 3,
        code::WAITING => 2,
        _ => 0,
    };
    codes.max_by_key(|exit| rank(*exit)).unwrap_or(code::DONE)
}
