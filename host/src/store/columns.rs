//! The derived columns by name: what `verify` compares.

use std::fmt;

use super::types::{Budget, Derived};

/// A column that isn't what its record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The column.
    pub column: &'static str,
    /// What is stored.
    pub stored: String,
    /// What the record says.
    pub record: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column `{}` holds `{}`, the record says `{}`", self.column, self.stored, self.record)
    }
}

/// Every column of `row` that differs from what `from_record` says, in the order of the table; empty where all agree (D47).
pub fn compare(row: &Derived, from_record: &Derived) -> Vec<Mismatch> {
    named(row)
        .into_iter()
        .zip(named(from_record))
        .filter(|((_, stored), (_, record))| stored != record)
        .map(|((column, stored), (_, record))| Mismatch { column, stored, record })
        .collect()
}

/// Each column's name and value. Taking the struct apart makes a forgotten field a compile error.
fn named(derived: &Derived) -> Vec<(&'static str, String)> {
    let Derived {
        operation_id,
        namespace,
        contract_id,
        account,
        jobs,
        contract_digest,
        component_digest,
        phase,
        reason,
        state,
        next_at,
        deadline_at,
        revision,
        authority_revision,
        fence,
        lease_expires_at,
        requests,
        failures,
        throttles,
        head,
        record_sha256,
        started_at,
        opened_by,
        outcome,
    } = derived;
    let mut columns = vec![
        ("operation_id", operation_id.clone()),
        ("namespace", namespace.clone()),
        ("contract_id", contract_id.clone()),
        ("account", account.clone()),
        ("jobs", format!("{jobs:?}")),
        ("contract_digest", contract_digest.clone()),
        ("component_digest", component_digest.clone()),
        ("phase", phase.to_string()),
        ("reason", text(reason)),
        ("state", text(state)),
        ("next_at", number(*next_at)),
        ("deadline_at", deadline_at.to_string()),
        ("revision", revision.to_string()),
        ("authority_revision", authority_revision.to_string()),
        ("fence", fence.to_string()),
        ("lease_expires_at", number(*lease_expires_at)),
    ];
    for ([used, max], budget) in [
        (["requests_used", "requests_max"], requests),
        (["failures_used", "failures_max"], failures),
        (["throttles_used", "throttles_max"], throttles),
    ] {
        let Budget { used: spent, max: allowed } = budget;
        columns.push((used, spent.to_string()));
        columns.push((max, allowed.to_string()));
    }
    columns.extend([
        ("head", head.clone()),
        ("record_sha256", record_sha256.clone()),
        ("started_at", started_at.to_string()),
        ("opened_by", opened_by.clone()),
        ("outcome", text(outcome)),
    ]);
    columns
}

/// Quoted, so that an absent text and the word for it stay apart.
fn text(value: &Option<String>) -> String {
    value.as_ref().map_or_else(absent, |text| format!("{text:?}"))
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(absent, |number| number.to_string())
}

fn absent() -> String {
    "none".to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::store::Phase;

    #[test]
    fn d47_equal_columns_have_no_mismatch() {
        let row = fixture::derived("op-1", "job-1");
        assert_eq!(compare(&row, &row.clone()), []);
    }

    #[test]
    fn d47_every_changed_column_is_named_with_both_values() {
        let row = fixture::derived("op-1", "job-1");
        let mut record = row.clone();
        record.requests.used = 7;
        record.phase = Phase::Escalated;
        record.state = Some("none".to_owned());
        let found = compare(&row, &record);
        let told: Vec<_> = found.iter().map(|m| (m.column, m.stored.as_str(), m.record.as_str())).collect();
        assert_eq!(
            told,
            [("phase", "waiting", "escalated"), ("state", "none", "\"none\""), ("requests_used", "0", "7"),]
        );
    }
}
