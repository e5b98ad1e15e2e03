//! A long log, verified in parts: each goes on from the record that the one before it ended with, so that memory stays
//! bounded whatever the log's length.

use super::audit::{Log, Report, Verdict};
use super::engine::FUEL;
use super::{CallError, Component};

/// Bytes of entries in one part: with all that replay makes of them they fit in an instance many times over.
const PART_BYTES: usize = 2 << 20;

/// No entry is shorter.
pub(super) const ENTRY_BYTES_LEAST: usize = 512;

/// Fuel for replaying so many entries: as much as their steps might have had.
pub(super) fn fuel(entries: usize) -> u64 {
    FUEL.saturating_mul(u64::try_from(entries).unwrap_or(u64::MAX).saturating_add(1))
}

pub(super) fn verify(component: &Component, log: &Log) -> Result<Report, CallError> {
    let mut rest = log.entries.as_slice();
    let mut whole: Option<Report> = None;
    loop {
        let (now, later) = rest.split_at(part(rest));
        rest = later;
        let part = Log {
            entries: now.to_vec(),
            contracts: log.contracts.clone(),
            start: whole.as_ref().map_or_else(|| log.start.clone(), |whole| whole.record.clone()),
            current: if rest.is_empty() { log.current.clone() } else { None },
            component: log.component.clone(),
        };
        let report =
            component.call(fuel(now.len()), |core, store| core.sondeo_policy_audit().call_verify(store, &part))?;
        let report = match whole {
            Some(before) => joined(before, report),
            None => report,
        };
        let fine = matches!(report.verdict, Verdict::Verified | Verdict::VerifiedOtherBuild);
        if rest.is_empty() || !fine {
            return Ok(report);
        }
        whole = Some(report);
    }
}

/// How many of the entries make the next part; at least one, where there is one.
fn part(entries: &[String]) -> usize {
    let mut bytes = 0usize;
    let fitting = entries
        .iter()
        .take_while(|entry| {
            bytes = bytes.saturating_add(entry.len());
            bytes <= PART_BYTES
        })
        .count();
    fitting.max(1).min(entries.len())
}

fn joined(before: Report, mut part: Report) -> Report {
    if part.verdict == Verdict::Verified {
        part.verdict = before.verdict;
    }
    part.checked = part.checked.saturating_add(before.checked);
    let mut sentences = before.sentences;
    sentences.append(&mut part.sentences);
    part.sentences = sentences;
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_bounded_in_bytes_and_never_empty() {
        let small = vec!["x".repeat(1 << 20); 5];
        assert_eq!(part(&small), 2);
        assert_eq!(part(&["x".repeat(3 << 20)]), 1);
        assert_eq!(part(&[]), 0);
    }
}
