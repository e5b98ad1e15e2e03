//! Reading: each function on a connection of its own, so that nobody waits for the writer.

use rusqlite::{Connection, params, params_from_iter, types::Value};

use super::sql::{all, count, fault, first, get, int, listed, named, phase, stored};
use super::statements as st;
use crate::store::bounds::sha256;
use crate::store::error::StoreError;
use crate::store::types::{Component, Count, Entry, Filter, JobKey, KeptRow, Page, Stored, Unlisted};

/// The operation with this id, and its row.
pub(super) fn operation(conn: &Connection, id: &str) -> Result<Option<(Stored, i64)>, StoreError> {
    first(conn, st::LOAD, [id], stored).map_err(|error| of(id, error))
}

/// The operation that holds a job, else the last that had it (D4).
pub(super) fn job(conn: &Connection, key: &JobKey) -> Result<Option<Stored>, StoreError> {
    let found = first(conn, st::JOB_FIND, [&key.namespace, &key.contract_id, &key.account, &key.job], |row| {
        get::<i64>(row, 0)
    })?;
    let Some(id) = found else { return Ok(None) };
    let found = first(conn, st::LOAD_ROW, [id], |row| {
        let name = || named(row, "operation_id").unwrap_or_else(|_| format!("row {id}"));
        stored(row).map_err(|error| of(&name(), error))
    })?;
    Ok(found.map(|(stored, _)| stored))
}

/// Names the operation in an error about one of its values (D47).
pub(super) fn of(id: &str, error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged { what, why } => StoreError::Damaged { what: format!("operation `{id}`, {what}"), why },
        other => other,
    }
}

/// A contract's text, checked against its digest.
pub(super) fn contract(conn: &Connection, digest: &str) -> Result<Option<String>, StoreError> {
    let text: Option<String> = first(conn, st::CONTRACT, [digest], |row| get(row, 0))?;
    if let Some(text) = &text {
        intact("contract", digest, text.as_bytes())?;
    }
    Ok(text)
}

/// A component, checked against its digest.
pub(super) fn component(conn: &Connection, digest: &str) -> Result<Option<Component>, StoreError> {
    let found = first(conn, st::COMPONENT, [digest], |row| {
        Ok(Component { digest: get(row, 0)?, core_digest: get(row, 1)?, version: get(row, 2)?, bytes: get(row, 3)? })
    })?;
    if let Some(component) = &found {
        intact("component", digest, &component.bytes)?;
    }
    Ok(found)
}

fn intact(what: &str, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let found = sha256(bytes);
    if found == digest {
        return Ok(());
    }
    Err(StoreError::Damaged { what: format!("{what} `{digest}`"), why: format!("its bytes have the digest `{found}`") })
}

/// A part of an operation's log.
pub(super) fn entries(conn: &Connection, id: &str, from_seq: u64, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let from = int("from_seq", from_seq)?;
    all(conn, st::ENTRIES, params![id, from, limit], |row| {
        Ok(Entry { seq: count(row, 0)?, sha256: get(row, 1)?, text: get(row, 2)? })
    })
    .map_err(|error| of(id, error))
}

/// The values kept for an operation.
pub(super) fn kept(conn: &Connection, id: &str) -> Result<Vec<KeptRow>, StoreError> {
    all(conn, st::KEPT, [id], |row| {
        Ok(KeptRow { sha256: get(row, 0)?, role: get(row, 1)?, sealed: get(row, 2)?, value: get(row, 3)? })
    })
}

/// Ids that start with `prefix`.
pub(super) fn prefixed(conn: &Connection, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
    all(conn, st::PREFIX, params![prefix, limit], |row| get(row, 0))
}

/// A part of the list of operations.
pub(super) fn list(conn: &Connection, filter: &Filter) -> Result<Page, StoreError> {
    let mut sql = st::LIST.to_owned();
    let mut values: Vec<Value> = Vec::new();
    if !filter.phases.is_empty() {
        // The words are ours, not the caller's.
        let words: Vec<_> = filter.phases.iter().map(|p| format!("'{p}'")).collect();
        sql.push_str(&format!(" AND phase IN ({})", words.join(", ")));
    }
    if let Some(namespace) = &filter.namespace {
        sql.push_str(" AND namespace = ?");
        values.push(namespace.clone().into());
    }
    if let Some(contract_id) = &filter.contract_id {
        sql.push_str(" AND contract_id = ?");
        values.push(contract_id.clone().into());
    }
    if filter.marked {
        sql.push_str(" AND mark_at IS NOT NULL");
    }
    if let Some(after) = filter.after {
        sql.push_str(" AND id < ?");
        values.push(int("after", after)?.into());
    }
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    values.push(i64::from(filter.limit).into());
    let mut last = None;
    let lines = all(conn, &sql, params_from_iter(values), |row| {
        let id: i64 = named(row, "id")?;
        last = u64::try_from(id).ok();
        Ok(match listed(row) {
            Err(StoreError::Damaged { what, why }) => Err(Unlisted {
                operation_id: named(row, "operation_id").unwrap_or_else(|_| format!("row {id}")),
                why: format!("{what}: {why}"),
            }),
            other => Ok(other?),
        })
    })?;
    let full = u32::try_from(lines.len()).is_ok_and(|lines| lines == filter.limit);
    let mut page = Page { rows: Vec::with_capacity(lines.len()), damaged: Vec::new(), next: last.filter(|_| full) };
    for line in lines {
        match line {
            Ok(line) => page.rows.push(line),
            Err(damaged) => page.damaged.push(damaged),
        }
    }
    Ok(page)
}

/// When the next operation falls due; in the past where one already has.
pub(super) fn next_due(conn: &Connection) -> Result<Option<u64>, StoreError> {
    first(conn, st::NEXT_DUE, [], |row| count(row, 0))
}

/// How many operations stand where.
pub(super) fn counts(conn: &Connection) -> Result<Vec<Count>, StoreError> {
    all(conn, st::COUNTS, [], |row| {
        Ok(Count { namespace: get(row, 0)?, phase: phase(&get::<String>(row, 1)?)?, operations: count(row, 2)? })
    })
}

/// What is wrong with the file itself, a line each; empty where nothing is.
pub(super) fn check(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let mut wrong = all(conn, "PRAGMA integrity_check", [], |row| get::<String>(row, 0))?;
    wrong.retain(|line| line != "ok");
    let mut statement = conn.prepare("PRAGMA foreign_key_check").map_err(fault)?;
    let mut rows = statement.query([]).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        let (table, id): (String, Option<i64>) = (get(row, 0)?, get(row, 1)?);
        let parent: String = get(row, 2)?;
        let id = id.map_or_else(String::new, |id| format!(" {id}"));
        wrong.push(format!("row{id} of `{table}` points to nothing in `{parent}`"));
    }
    let astray = all(conn, st::JOBS_ASTRAY, [], |row| get::<String>(row, 0))?;
    wrong.extend(astray.into_iter().map(|id| format!("operation `{id}`: its jobs aren't held as its row says")));
    wrong.extend(contents(conn)?);
    Ok(wrong)
}

/// What no longer has the digest under which it is kept.
fn contents(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let mut wrong = Vec::new();
    for digest in all(conn, st::CONTRACT_DIGESTS, [], |row| get::<String>(row, 0))? {
        wrong.extend(contract(conn, &digest).err());
    }
    for digest in all(conn, st::COMPONENT_DIGESTS, [], |row| get::<String>(row, 0))? {
        wrong.extend(component(conn, &digest).err());
    }
    let mut wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    let kept = all(conn, st::KEPT_CLEAR, [], |row| {
        let (id, role): (String, String) = (get(row, 0)?, get(row, 1)?);
        let (digest, value): (String, Vec<u8>) = (get(row, 2)?, get(row, 3)?);
        Ok((sha256(&value) != digest)
            .then(|| format!("operation `{id}`: the value kept as `{role}` has another digest")))
    })?;
    wrong.extend(kept.into_iter().flatten());
    Ok(wrong)
}
