//! The manual: one page a subject.
//!
//! - [`contracts`]: the file that says what a provider's answers mean
//! - [`rules`]: what every decision means, by id
//! - [`store`]: what is kept, where, and what survives
//! - [`audit`]: how a log is checked without us
//! - [`limits`]: what a wait may cost, and the bounds of the program itself
//! - [`upgrade`]: old operations under new builds
//! - [`figures`]: what was measured, and how to repeat it

#[doc = include_str!("manual/contracts.md")]
pub mod contracts {}
#[doc = include_str!("manual/rules.md")]
pub mod rules {}
#[doc = include_str!("manual/store.md")]
pub mod store {}
#[doc = include_str!("manual/audit.md")]
pub mod audit {}
#[doc = include_str!("manual/limits.md")]
pub mod limits {}
#[doc = include_str!("manual/upgrade.md")]
pub mod upgrade {}
#[doc = include_str!("manual/figures.md")]
pub mod figures {}
