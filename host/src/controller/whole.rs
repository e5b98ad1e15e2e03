//! D47: a record that can't be read, or that its row doesn't agree with, is gone on with by nobody, and named.

use super::{ControlError, derived};
use crate::component::{CallError, Component, types};
use crate::store::{Derived, StoreError, compare};

/// The typed view of a record that its row agrees with.
///
/// # Errors
/// [`StoreError::Damaged`], naming the operation and what is wrong with it.
pub(super) fn whole(component: &Component, row: &Derived, record: &str) -> Result<types::Operation, ControlError> {
    let operation = readable(component, &row.operation_id, record)?;
    let made = derived(&operation);
    if *row == made {
        return Ok(operation);
    }
    let wrong: Vec<String> = compare(row, &made).iter().map(ToString::to_string).collect();
    Err(damaged(&row.operation_id, wrong.join("; ")))
}

/// The typed view of a record.
///
/// # Errors
/// [`StoreError::Damaged`] where it can't be read.
pub(super) fn readable(component: &Component, id: &str, record: &str) -> Result<types::Operation, ControlError> {
    component.read(record).map_err(|error| match error {
        CallError::Refused(refusal) => damaged(id, refusal.message),
        other => other.into(),
    })
}

fn damaged(id: &str, why: String) -> ControlError {
    ControlError::Store(StoreError::Damaged { what: format!("operation `{id}`"), why })
}
