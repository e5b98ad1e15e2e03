//! What is seen while the jobs are waited for: a line a job on a terminal, a line an event elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::super::{live, output, watch};
use crate::component::types;
use crate::controller::{Tick, ending_word, reason_word};
use crate::demo::stories::Story;

/// The jobs, as they stand.
pub(super) struct Board {
    names: Vec<&'static str>,
    bars: Option<(MultiProgress, Vec<ProgressBar>)>,
    quiet: bool,
}

impl Board {
    /// `quiet`: lines go to standard error, since standard output is for JSON.
    pub(super) fn new(stories: &[Story], quiet: bool) -> Self {
        let names: Vec<&'static str> = stories.iter().map(|story| story.job).collect();
        let bars = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let all = MultiProgress::new();
            let bars = names.iter().map(|name| bar(&all, name)).collect();
            (all, bars)
        });
        Self { names, bars, quiet }
    }

    /// After a look at a job. A line that can't be written ends no wait.
    pub(super) fn show(&self, index: usize, tick: &Tick, now: u64) {
        if let Some((_, bars)) = &self.bars {
            let Some(bar) = bars.get(index) else { return };
            match ended(&tick.operation) {
                Some(how) => bar.finish_with_message(format!("{how} after {}", requests(&tick.operation))),
                None => bar.set_message(live::line(&tick.operation, now)),
            }
            return;
        }
        let name = self.names.get(index).copied().unwrap_or_default();
        for sentence in tick.sentences.iter().filter(|sentence| !watch::is_charge(sentence)) {
            let text = format!("{name:10} {sentence}");
            let written = if self.quiet { None } else { output::line(&text).ok() };
            if written.is_none() {
                output::note(&text);
            }
        }
    }

    /// Takes the lines away: the stories follow.
    pub(super) fn end(&self) {
        if let Some((all, bars)) = &self.bars {
            bars.iter().for_each(ProgressBar::finish_and_clear);
            // A terminal that is gone has nothing to clear.
            let _cleared = all.clear();
        }
    }
}

/// Added before it is drawn for the first time: a bar that draws by itself leaves its line behind.
fn bar(all: &MultiProgress, name: &str) -> ProgressBar {
    let bar = all.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix:10} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(name.to_owned());
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn ended(operation: &types::Operation) -> Option<&'static str> {
    match &operation.phase {
        types::Phase::Settled(settlement) => Some(ending_word(settlement.ending)),
        types::Phase::Escalated(reason) => Some(reason_word(*reason)),
        _ => None,
    }
}

/// `1 request`, `3 requests`.
fn requests(operation: &types::Operation) -> String {
    let used = operation.requests.used;
    format!("{used} {}", if used == 1 { "request" } else { "requests" })
}
