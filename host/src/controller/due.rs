//! What is due, whatever operation it belongs to.

use std::collections::BTreeSet;

use super::{ControlError, Controller};
use crate::store::{Filter, Phase, Unlisted};

/// Operations listed at once.
const PAGE: u32 = 500;

/// What waits, as of one instant.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Ids of what is due.
    pub due: Vec<String>,
    /// Whether anything waits at all.
    pub any: bool,
    /// When the next falls due, in ms since the epoch.
    pub next: Option<u64>,
    /// Rows that can't be read (D47).
    pub damaged: Vec<Unlisted>,
}

impl Controller {
    /// What waits at `now`, but for what is `aside`; what bears the mark of a failed component waits for a person.
    ///
    /// # Errors
    /// What the store says.
    pub fn waiting(&self, now: u64, aside: &BTreeSet<String>) -> Result<Waiting, ControlError> {
        let mut waiting = Waiting::default();
        let mut after = None;
        loop {
            let page = self.store.list(&Filter {
                phases: vec![Phase::Waiting, Phase::Asking, Phase::Polling],
                after,
                limit: PAGE,
                ..Filter::default()
            })?;
            let live = page.rows.iter().filter(|listed| listed.mark.is_none());
            for listed in live.filter(|listed| !aside.contains(&listed.row.operation_id)) {
                waiting.any = true;
                match listed.row.next_at {
                    Some(at) if at <= now => waiting.due.push(listed.row.operation_id.clone()),
                    Some(at) => waiting.next = Some(waiting.next.map_or(at, |known| known.min(at))),
                    None => {}
                }
            }
            waiting.damaged.extend(page.damaged);
            after = page.next;
            if after.is_none() {
                return Ok(waiting);
            }
        }
    }
}
