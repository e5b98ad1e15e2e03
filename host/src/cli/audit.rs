//! `verify` and `replay`.

use serde_json::json;

use super::args::AuditArgs;
use super::{App, CliError, code, output, show};
use crate::audit::Finding;
use crate::controller::Controller;
use crate::store::Filter;

/// Checks some operations, or all, and the store itself.
pub(super) async fn verify(app: &App, args: &AuditArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let mut fine = true;
    let mut findings = Vec::new();
    for named in named(&controller, args)? {
        let finding = match named {
            Named::Operation(id) => controller.verify(&id, None)?,
            Named::Damaged(finding) => finding,
        };
        fine &= finding.is_fine();
        if app.common.json {
            findings.push(finding);
        } else {
            tell(&finding)?;
        }
    }
    let damage = controller.store().check()?;
    fine &= damage.is_empty();
    if app.common.json {
        output::json(&json!({"operations": findings, "store": damage, "fine": fine}))?;
    } else {
        for line in &damage {
            output::line(&format!("store: {line}"))?;
        }
    }
    Ok(if fine { code::DONE } else { code::FAILED })
}

/// An operation to look at, or a row that can't be read and what there is to say of it.
enum Named {
    Operation(String),
    Damaged(Finding),
}

/// The operations that are meant, or all.
fn named(controller: &Controller, args: &AuditArgs) -> Result<Vec<Named>, CliError> {
    if !args.ids.is_empty() {
        return args.ids.iter().map(|id| show::find(controller, id).map(Named::Operation)).collect();
    }
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = controller.store().list(&Filter { after, limit: 500, ..Filter::default() })?;
        all.extend(page.rows.into_iter().map(|listed| Named::Operation(listed.row.operation_id)));
        all.extend(page.damaged.iter().map(|row| Named::Damaged(Finding::of_damaged(row))));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

fn tell(finding: &Finding) -> Result<(), CliError> {
    let verdict =
        if finding.is_fine() || !finding.verdict.starts_with("verified") { finding.verdict } else { "not fine" };
    output::line(&format!("{} {verdict} ({} entries)", finding.operation_id, finding.entries))?;
    if let (Some(entry), false) = (finding.entry, finding.is_fine()) {
        let field = finding.field.as_ref().map(|field| format!(", field `{field}`")).unwrap_or_default();
        output::line(&format!("  at entry {entry}{field}"))?;
    }
    for why in &finding.why {
        output::line(&format!("  {why}"))?;
    }
    Ok(())
}

/// Makes every decision again, by the embedded component or that of `--component`, and tells the stories.
pub(super) async fn replay(app: &App, args: &AuditArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let mut fine = true;
    let mut replayed = Vec::new();
    for named in named(&controller, args)? {
        let finding = match named {
            Named::Operation(id) => controller.verify(&id, Some(controller.component()))?,
            Named::Damaged(damaged) => damaged,
        };
        fine &= finding.is_fine();
        if app.common.json {
            replayed.push(json!({"operation": finding, "sentences": finding.sentences}));
            continue;
        }
        for sentence in &finding.sentences {
            output::line(sentence)?;
        }
        tell(&finding)?;
    }
    if app.common.json {
        output::json(&json!({"operations": replayed, "fine": fine}))?;
    }
    Ok(if fine { code::DONE } else { code::FAILED })
}
