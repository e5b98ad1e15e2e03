//! `verify` and `replay`.

use super::args::{IdArgs, VerifyArgs};
use super::{App, CliError, code, output, show};
use crate::audit::Finding;
use crate::controller::Controller;
use crate::store::Filter;

/// Checks some operations, or all, and the store itself.
pub(super) async fn verify(app: &App, args: &VerifyArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let ids = match args.ids.as_slice() {
        [] => all(&controller)?,
        some => some.iter().map(|id| show::find(&controller, id)).collect::<Result<_, _>>()?,
    };
    let mut fine = true;
    let mut findings = Vec::new();
    for id in ids {
        let finding = controller.verify(&id, None)?;
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
        output::json(&serde_json::json!({"operations": findings, "store": damage, "fine": fine}))?;
    } else {
        for line in &damage {
            output::line(&format!("store: {line}"))?;
        }
    }
    Ok(if fine { code::DONE } else { code::FAILED })
}

fn all(controller: &Controller) -> Result<Vec<String>, CliError> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = controller.store().list(&Filter { after, limit: 500, ..Filter::default() })?;
        ids.extend(page.rows.iter().map(|listed| listed.row.operation_id.clone()));
        after = page.next;
        if after.is_none() {
            return Ok(ids);
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

/// Makes every decision of one operation again, by the embedded component or that of `--component`.
pub(super) async fn replay(app: &App, args: &IdArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let id = show::find(&controller, &args.id)?;
    let finding = controller.verify(&id, Some(controller.component()))?;
    if app.common.json {
        output::json(&serde_json::json!({"operation": finding, "sentences": finding.sentences}))?;
    } else {
        for sentence in &finding.sentences {
            output::line(sentence)?;
        }
        tell(&finding)?;
    }
    Ok(if finding.is_fine() { code::DONE } else { code::FAILED })
}
