//! The one live line of `watch`: state, used of allowed, next check and why, time left.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::{CliError, input, output};
use crate::component::types;

/// The line, where standard error is a terminal; elsewhere nothing, since the story's lines say it all.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Live {
    /// `quiet`: the story's lines go to standard error, since standard output is for JSON.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::default_spinner());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { bar, quiet }
    }

    /// A line of the story.
    pub(crate) fn tell(&self, text: &str) -> Result<(), CliError> {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::line(text)),
            None if self.quiet => {
                output::note(text);
                Ok(())
            }
            None => output::line(text),
        }
    }

    /// Something that the operator should know.
    pub(crate) fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None => output::note(text),
        }
    }

    /// How it stands now.
    pub(crate) fn show(&self, operation: &types::Operation, now: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(line(operation, now));
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The live line's text.
pub(crate) fn line(operation: &types::Operation, now: u64) -> String {
    let state = operation.last_known_state.as_deref().unwrap_or("not seen yet");
    let next = match &operation.phase {
        types::Phase::Waiting(waiting) => {
            format!(
                "next check in {} ({})",
                input::span(waiting.next_poll_at.saturating_sub(now)),
                source(waiting.source)
            )
        }
        types::Phase::Asking(asking) => format!("request {} rests until it is approved", asking.attempt),
        types::Phase::Polling(polling) => format!("request {} is in flight", polling.attempt),
        types::Phase::Escalated(_) | types::Phase::Settled(_) => "ended".to_owned(),
    };
    format!(
        "{} · {} of {} requests · {next} · {} left",
        output::visible(state),
        operation.requests.used,
        operation.requests.max,
        input::span(operation.deadline_at.saturating_sub(now))
    )
}

/// A delay source as people say it.
pub(crate) fn source(source: types::DelaySource) -> &'static str {
    use types::DelaySource as S;
    match source {
        S::ProviderRetryAfter => "Retry-After",
        S::ProviderPollHint => "provider hint",
        S::LocalBackoff => "local backoff",
        S::ManualExtension => "manual extension",
        S::FirstDelay => "first delay",
        S::AccountPacing => "account pacing",
        S::Push => "push",
    }
}
