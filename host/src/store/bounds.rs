//! What a step may do to the columns, whatever the component said: tested before the engine sees it, for every engine alike.
//! The charge itself is tested by its statement, beside which this is the second fence.

use sha2::{Digest, Sha256};

use super::error::Bound;
use super::types::{Derived, Phase, Staged};

/// The SHA-256 of `bytes`, lower-case hex.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Fails with what is wrong unless `holds`.
fn hold(holds: bool, which: &str, why: impl FnOnce() -> String) -> Result<(), Bound> {
    if holds {
        return Ok(());
    }
    Err(Bound { which: which.to_owned(), why: why() })
}

fn same<T: PartialEq + std::fmt::Display>(which: &str, old: &T, new: &T) -> Result<(), Bound> {
    hold(old == new, which, || format!("`{old}` can't become `{new}` here"))
}

fn no_less<T: PartialOrd + std::fmt::Display>(which: &str, old: T, new: T) -> Result<(), Bound> {
    hold(new >= old, which, || format!("{old} can't fall to {new}"))
}

/// An opening: revision 1, no lease, nothing charged (D2).
pub(super) fn check_opening(staged: &Staged) -> Result<(), Bound> {
    let new = &staged.derived;
    same("revision", &1, &new.revision)?;
    check_texts(staged)?;
    hold(staged.charge.is_none(), "charge", || "an opening sends nothing".to_owned())?;
    same("fence", &0, &new.fence)?;
    hold(new.phase != Phase::Polling, "phase", || "an opening can't be polling".to_owned())?;
    hold(!staged.clears_mark, "mark", || "there is none".to_owned())?;
    check_authority_revision(0, new)
}

/// A step from `old`.
pub(super) fn check_step(old: &Derived, marked: bool, staged: &Staged) -> Result<(), Bound> {
    let new = &staged.derived;
    let next = old.revision.saturating_add(1);
    same("revision", &next, &new.revision)?;
    check_texts(staged)?;
    check_pinned(old, new)?;
    check_authority_revision(old.authority_revision, new)?;
    // INVARIANT (never down): no owner, session or restart takes back what was spent (D22).
    no_less("failures_used", old.failures.used, new.failures.used)?;
    no_less("throttles_used", old.throttles.used, new.throttles.used)?;
    hold(marked || !staged.clears_mark, "mark", || "there is none to clear".to_owned())?;
    if !staged.authority {
        check_limits(old, new)?;
    }
    if staged.charge.is_some() { check_charge(old, staged) } else { check_unpaid(old, staged) }
}

/// Entry, head and digest belong to the record they came with (D47).
fn check_texts(staged: &Staged) -> Result<(), Bound> {
    let new = &staged.derived;
    same("entry", &new.revision, &staged.entry.seq)?;
    same("head", &staged.entry.sha256, &new.head)?;
    same("record_sha256", &sha256(staged.record.as_bytes()), &new.record_sha256)
}

/// What never changes, and the jobs, which only grow.
fn check_pinned(old: &Derived, new: &Derived) -> Result<(), Bound> {
    same("operation_id", &old.operation_id, &new.operation_id)?;
    same("namespace", &old.namespace, &new.namespace)?;
    same("contract_id", &old.contract_id, &new.contract_id)?;
    same("account", &old.account, &new.account)?;
    same("started_at", &old.started_at, &new.started_at)?;
    same("opened_by", &old.opened_by, &new.opened_by)?;
    hold(new.jobs.starts_with(&old.jobs), "jobs", || "ids are only added, at the end".to_owned())
}

/// What only a decision changes (D22, D38).
fn check_limits(old: &Derived, new: &Derived) -> Result<(), Bound> {
    same("requests_max", &old.requests.max, &new.requests.max)?;
    same("failures_max", &old.failures.max, &new.failures.max)?;
    same("throttles_max", &old.throttles.max, &new.throttles.max)?;
    same("deadline_at", &old.deadline_at, &new.deadline_at)?;
    same("contract_digest", &old.contract_digest, &new.contract_digest)
}

fn check_authority_revision(old: u64, new: &Derived) -> Result<(), Bound> {
    no_less("authority_revision", old, new.authority_revision)?;
    hold(new.authority_revision <= new.revision, "authority_revision", || {
        format!("{} lies past the revision", new.authority_revision)
    })
}

/// A charge pays for one request and does nothing else.
fn check_charge(old: &Derived, staged: &Staged) -> Result<(), Bound> {
    let new = &staged.derived;
    let Some(charge) = staged.charge else {
        return Ok(());
    };
    let attempt = old.requests.used.saturating_add(1);
    same("requests_used", &attempt, &new.requests.used)?;
    same("fence", &charge.fence, &new.fence)?;
    hold(new.lease_expires_at == Some(charge.lease_expires_at), "lease_expires_at", || {
        "differs from the charge's".to_owned()
    })?;
    same("phase", &Phase::Polling, &new.phase)?;
    same("failures_used", &old.failures.used, &new.failures.used)?;
    same("throttles_used", &old.throttles.used, &new.throttles.used)?;
    same("component_digest", &old.component_digest, &new.component_digest)?;
    hold(old.jobs == new.jobs, "jobs", || "a charge adds none".to_owned())?;
    let plain = !staged.authority && !staged.clears_mark && staged.contract.is_none() && staged.component.is_none();
    hold(plain, "charge", || "is a step of its own, beside no decision, contract or component".to_owned())
}

/// A step without a charge: no request is paid for, no lease begins, and only a decision leads out of an escalation (D32).
fn check_unpaid(old: &Derived, staged: &Staged) -> Result<(), Bound> {
    let new = &staged.derived;
    same("requests_used", &old.requests.used, &new.requests.used)?;
    no_less("fence", old.fence, new.fence)?;
    if new.phase == Phase::Polling {
        same("phase", &old.phase, &new.phase)?;
        same("fence", &old.fence, &new.fence)?;
        hold(old.lease_expires_at == new.lease_expires_at, "lease_expires_at", || {
            "a lease is never prolonged".to_owned()
        })?;
    }
    let reopens = old.phase == Phase::Escalated && new.phase != Phase::Escalated;
    hold(staged.authority || !reopens, "phase", || "only a decision leads out of an escalation".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::store::types::Charge;

    /// A change of columns, and the column that it is refused for.
    type Change = (&'static str, fn(&mut Derived));

    fn which(old: &Derived, change: impl FnOnce(&mut Staged)) -> String {
        let mut staged = fixture::next(old, |_| {});
        change(&mut staged);
        check_step(old, false, &staged).map_or_else(|bound| bound.which, |()| "fine".to_owned())
    }

    fn waiting() -> Derived {
        let mut row = fixture::derived("op-1", "job-1");
        row.requests.used = 2;
        row.failures.used = 1;
        row.throttles.used = 1;
        row.fence = 2;
        row
    }

    #[test]
    fn a_plain_step_is_within_bounds() {
        assert_eq!(which(&waiting(), |_| {}), "fine");
        assert_eq!(check_opening(&fixture::opening("op-1", "job-1")), Ok(()));
    }

    #[test]
    fn d22_used_counts_and_fence_never_fall() {
        let old = waiting();
        assert_eq!(which(&old, |s| s.derived.requests.used = 1), "requests_used");
        assert_eq!(which(&old, |s| s.derived.failures.used = 0), "failures_used");
        assert_eq!(which(&old, |s| s.derived.throttles.used = 0), "throttles_used");
        assert_eq!(which(&old, |s| s.derived.fence = 1), "fence");
    }

    #[test]
    fn d22_limits_change_by_a_decision_only() {
        let old = waiting();
        let change: [Change; 5] = [
            ("requests_max", |d| d.requests.max += 1),
            ("failures_max", |d| d.failures.max += 1),
            ("throttles_max", |d| d.throttles.max += 1),
            ("deadline_at", |d| d.deadline_at += 1),
            ("contract_digest", |d| d.contract_digest = "x".to_owned()),
        ];
        for (column, change) in change {
            assert_eq!(which(&old, |s| change(&mut s.derived)), column);
            assert_eq!(
                which(&old, |s| {
                    change(&mut s.derived);
                    s.authority = true;
                }),
                "fine"
            );
        }
    }

    #[test]
    fn d19_a_request_is_counted_by_a_charge_only() {
        assert_eq!(which(&waiting(), |s| s.derived.requests.used += 1), "requests_used");
        assert_eq!(
            which(&waiting(), |s| {
                s.derived.phase = Phase::Polling;
                s.derived.lease_expires_at = Some(9);
            }),
            "phase"
        );
    }

    #[test]
    fn d42_a_lease_is_never_prolonged() {
        let mut old = waiting();
        old.phase = Phase::Polling;
        old.lease_expires_at = Some(60);
        assert_eq!(which(&old, |_| {}), "fine");
        assert_eq!(which(&old, |s| s.derived.lease_expires_at = Some(61)), "lease_expires_at");
        assert_eq!(which(&old, |s| s.derived.fence = 3), "fence");
    }

    #[test]
    fn a_charge_does_nothing_else() {
        let old = waiting();
        let charged = |change: fn(&mut Staged)| {
            let mut staged = fixture::charge(&old, 60_000);
            change(&mut staged);
            check_step(&old, false, &staged).map_or_else(|bound| bound.which, |()| "fine".to_owned())
        };
        assert_eq!(charged(|_| {}), "fine");
        assert_eq!(charged(|s| s.derived.requests.used += 1), "requests_used");
        assert_eq!(charged(|s| s.derived.requests.max += 1), "requests_max");
        assert_eq!(charged(|s| s.derived.deadline_at += 1), "deadline_at");
        assert_eq!(charged(|s| s.derived.failures.used += 1), "failures_used");
        assert_eq!(charged(|s| s.derived.phase = Phase::Waiting), "phase");
        assert_eq!(charged(|s| s.authority = true), "charge");
        assert_eq!(
            charged(|s| {
                s.charge = s.charge.map(|charge| Charge { lease_expires_at: charge.lease_expires_at + 1, ..charge });
            }),
            "lease_expires_at"
        );
    }

    #[test]
    fn d47_entry_head_and_record_belong_together() {
        let old = waiting();
        assert_eq!(which(&old, |s| s.derived.revision += 1), "revision");
        assert_eq!(which(&old, |s| s.entry.seq += 1), "entry");
        assert_eq!(which(&old, |s| s.entry.sha256 = "x".to_owned()), "head");
        assert_eq!(which(&old, |s| s.record.push(' ')), "record_sha256");
    }

    #[test]
    fn d1_what_is_pinned_never_changes() {
        let old = waiting();
        let change: [Change; 6] = [
            ("namespace", |d| d.namespace.push('x')),
            ("contract_id", |d| d.contract_id.push('x')),
            ("account", |d| d.account.push('x')),
            ("started_at", |d| d.started_at += 1),
            ("opened_by", |d| d.opened_by.push('x')),
            ("jobs", |d| d.jobs.insert(0, "x".to_owned())),
        ];
        for (column, change) in change {
            assert_eq!(
                which(&old, |s| {
                    change(&mut s.derived);
                    s.authority = true;
                }),
                column
            );
        }
        assert_eq!(which(&old, |s| s.derived.jobs.push("y".to_owned())), "fine");
    }

    #[test]
    fn d32_only_a_decision_leads_out_of_an_escalation() {
        let mut old = waiting();
        old.phase = Phase::Escalated;
        assert_eq!(which(&old, |s| s.derived.phase = Phase::Waiting), "phase");
        assert_eq!(
            which(&old, |s| {
                s.derived.phase = Phase::Waiting;
                s.authority = true;
            }),
            "fine"
        );
    }

    #[test]
    fn an_opening_starts_at_one_without_lease_or_charge() {
        let which = |change: fn(&mut Staged)| {
            let mut staged = fixture::opening("op-1", "job-1");
            change(&mut staged);
            check_opening(&staged).map_or_else(|bound| bound.which, |()| "fine".to_owned())
        };
        assert_eq!(which(|s| s.derived.revision = 2), "revision");
        assert_eq!(which(|s| s.derived.fence = 1), "fence");
        assert_eq!(which(|s| s.derived.phase = Phase::Polling), "phase");
        assert_eq!(which(|s| s.clears_mark = true), "mark");
    }
}
