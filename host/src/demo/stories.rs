//! The demo's jobs: what each does, and how a wait for it has to end.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::script::{Script, ScriptError, Step};

/// One job, and what is expected of a wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// The job's id at the provider.
    pub job: &'static str,
    /// In words.
    pub does: &'static str,
    /// What it answers.
    pub script: Script,
    /// The word of the ending, or of the reason for asking (D33).
    pub ends: &'static str,
    /// A deadline of its own, in ms from the opening; else the contract's.
    pub deadline_ms: Option<u64>,
    /// A failure budget of its own; else the contract's.
    pub failures_max: Option<u32>,
}

impl Story {
    /// As programs read it.
    pub fn json(&self) -> Value {
        json!({"job": self.job, "does": self.does, "script": self.script.to_string(), "ends": self.ends})
    }
}

/// How long the wait for a job that never ends may last; the longest of the demo when all goes well.
const ENDLESS_MS: u64 = 12_000;

/// The jobs of a seed: the same seed gives the same scripts, for ever, and every seed the same endings.
///
/// # Errors
/// None in a build whose tests pass: a script would have to be empty or too long.
pub fn stories(seed: u64) -> Result<Vec<Story>, ScriptError> {
    let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
    let chance = &mut chance;
    // Longer than the contract's longest backoff, so that the guidance is what sets the time.
    let (wait, later) = (chance.between(3, 4), chance.between(4, 5));
    let hint = chance.between(300, 700);
    let word = chance.one_of(&["paused", "hibernating", "resharding", "on_hold"]);
    let [first, second] = chance.order(Step::Drop, Step::Half);
    let all: Vec<(&str, &str, Vec<Step>, &str)> = vec![
        (
            "quick",
            "queues, runs, says when to ask again, is done",
            chance.runs(vec![Step::Hint(hint), Step::Done]),
            "succeeded",
        ),
        (
            "throttled",
            "throttles, Retry-After in seconds",
            chance.runs(vec![Step::Delta(429, wait), running(), Step::Done]),
            "succeeded",
        ),
        (
            "dated",
            "throttles, Retry-After as a date",
            chance.runs(vec![Step::Date(429, later), Step::Done]),
            "succeeded",
        ),
        (
            "flaky",
            "drops the connection, breaks off a body",
            vec![running(), first, running(), second, Step::Done],
            "succeeded",
        ),
        ("moving", "moves elsewhere, and is done there", chance.runs(vec![Step::Moved]), "succeeded"),
        ("failing", "fails", chance.runs(vec![Step::Failed]), "job_failed"),
        ("vanishing", "is gone after it was seen", chance.runs(vec![Step::Status(404)]), "job_expired"),
        ("renamed", "turns up with a state that nobody knows", chance.runs(vec![state(word)]), "unknown_state"),
        ("blocked", "waits for a person's approval", chance.runs(vec![Step::Waiting]), "needs_action"),
        ("hanging", "stops answering", chance.runs(vec![Step::Hang]), "ambiguous_delivery"),
        ("garbled", "answers no JSON", chance.runs(vec![Step::Garbage]), "unreadable_response"),
        ("empty", "is done and shows no result", chance.runs(vec![Step::Hollow]), "contradictory_response"),
        ("swapped", "answers for another job", chance.runs(vec![Step::Another]), "identity_mismatch"),
        ("endless", "runs for ever", vec![running()], "deadline_exceeded"),
    ];
    let story = |(job, does, steps, ends)| {
        Ok(Story {
            job,
            does,
            script: Script::new(steps)?,
            ends,
            deadline_ms: (job == "endless").then_some(ENDLESS_MS),
            failures_max: (job == "hanging").then_some(2),
        })
    };
    all.into_iter().map(story).collect()
}

fn state(word: &str) -> Step {
    Step::State(word.to_owned())
}

fn running() -> Step {
    state("running")
}

/// Choices of a seed. ChaCha8, because its stream is the same in every version and on every machine.
struct Chance(ChaCha8Rng);

impl Chance {
    /// A number between two, both included.
    fn between(&mut self, from: u32, to: u32) -> u32 {
        let width = to.saturating_sub(from).saturating_add(1);
        from.saturating_add(self.0.next_u32().checked_rem(width).unwrap_or(0))
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let last = u32::try_from(words.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let index = usize::try_from(self.between(0, last)).unwrap_or(0);
        words.get(index).copied().unwrap_or("paused")
    }

    fn order(&mut self, a: Step, b: Step) -> [Step; 2] {
        if self.between(0, 1) == 0 { [a, b] } else { [b, a] }
    }

    /// Queued for up to two requests, running for one or two, then these steps.
    fn runs(&mut self, then: Vec<Step>) -> Vec<Step> {
        let mut steps: Vec<Step> = (0..self.between(0, 2)).map(|_| state("queued")).collect();
        steps.extend((0..self.between(1, 2)).map(|_| running()));
        steps.extend(then);
        steps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn scripts(seed: u64) -> Vec<String> {
        stories(seed).unwrap().iter().map(|story| format!("{} {}", story.job, story.script)).collect()
    }

    #[test]
    fn a_seed_gives_the_same_scripts_for_ever() {
        assert_eq!(scripts(7), scripts(7));
        let different: BTreeSet<Vec<String>> = (0..20).map(scripts).collect();
        assert!(different.len() > 15, "{} of 20 differ", different.len());
        for expected in SEED_1 {
            assert!(scripts(1).contains(&expected.to_owned()), "{expected}: {:#?}", scripts(1));
        }
    }

    /// Written down, so that a changed generator is noticed.
    const SEED_1: [&str; 6] = [
        "quick queued.running.hint-629.done",
        "throttled running.running.429-4.running.done",
        "dated queued.running.429-date4.done",
        "flaky running.half.running.drop.done",
        "vanishing queued.queued.running.running.404",
        "renamed queued.running.is-paused",
    ];

    #[test]
    fn every_seed_gives_the_same_endings() {
        let endings = |seed| stories(seed).unwrap().iter().map(|story| (story.job, story.ends)).collect::<Vec<_>>();
        for seed in [0, 1, 2, u64::MAX] {
            assert_eq!(endings(seed), endings(1));
        }
        assert!(endings(1).len() >= 12);
    }
}
