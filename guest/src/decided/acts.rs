//! What the other decisions do: amend, renew, hold, adopt, approve (D10, D33, D41).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    grant::{carry, go_on, stay},
    refuse,
};
use crate::{
    api::{DelaySource, Extension, Fault, Phase, Refusal, RefusalKind, Renewal},
    contract::{Approval, EffectsKind},
    delay, machine, open, request,
    step::{Next, Step},
    time::Instant,
};

/// D10: a contract revision, adopted for this operation. Limits stay; nothing already seen is judged again.
pub(super) fn amend(s: &mut Step<'_>, contract: &str, extension: Option<&Extension>) -> Result<Next, Refusal> {
    if s.r.contract_digest == contract {
        return refuse(RefusalKind::InvalidEvent, "the operation is under this contract already");
    }
    let stage = s.stage();
    if let Some(address) = &s.r.address
        && address.template
    {
        match request::address_from_template(stage, &s.r.job, &s.r.ctx) {
            Ok(Some(address)) => s.r.address = Some(address),
            Ok(None) => {}
            Err(why) => {
                return refuse(RefusalKind::InvalidContract, format!("the status address can't be built: {why}"));
            }
        }
    }
    s.r.contract_digest = contract.into();
    s.r.approval_per_request |= stage.approval == Approval::PerRequest || stage.effects.kind != EffectsKind::None;
    s.r.backoff_n = 0;
    carry(s, extension)?;
    go_on(s)
}

/// D33: `rotated` is checked by its keyed digest, `access_restored` is attested by the decider's name.
pub(super) fn renew(s: &mut Step<'_>, renewal: &Renewal, credential: Option<&String>) -> Result<(), Refusal> {
    if let Renewal::Rotated { digest } = renewal
        && s.r.credential_digest.as_ref() == Some(digest)
    {
        return refuse(
            RefusalKind::InvalidEvent,
            "the credential is the one that was refused: rotate it, or attest that its access was restored",
        );
    }
    if let Some(reference) = credential {
        if !open::is_name(reference) {
            return refuse(RefusalKind::InvalidEvent, "the credential reference must be a short text like `env:NAME`");
        }
        s.r.credential = Some(reference.clone());
    }
    s.r.backoff_n = 0;
    Ok(())
}

pub(super) fn hold(s: &mut Step<'_>, until: Instant) -> Result<Next, Refusal> {
    if until <= s.at {
        return refuse(RefusalKind::InvalidEvent, "a hold ends in the future");
    }
    s.r.held_until = Some(until);
    Ok(stay(s, "nobody is asked again before then"))
}

/// `submission_unknown`: the job was found.
pub(super) fn adopt(
    s: &mut Step<'_>,
    job: &BTreeMap<String, String>,
    address: Option<&str>,
    extension: Option<&Extension>,
) -> Result<Next, Refusal> {
    let mut faults: Vec<Fault> = Vec::new();
    open::check_job(s.contract, job, "/what/adopt/job", &mut faults);
    if let Some(first) = faults.first() {
        let message = first.message.clone();
        return Err(Refusal { kind: RefusalKind::InvalidEvent, message, faults });
    }
    let address = open::resolve_address(s.contract, job, &s.r.ctx, address, None)
        .map_err(|why| Refusal::new(RefusalKind::InvalidEvent, why))?;
    if address.secret && !s.r.sealing {
        return refuse(RefusalKind::InvalidEvent, "the status address is secret and there is no key to keep it (D31)");
    }
    s.r.provider_job_id =
        if job.is_empty() { format!("address:{}", address.sha256) } else { open::job_text(s.contract, job) };
    s.r.job = job.clone();
    s.r.address = Some(address);
    carry(s, extension)?;
    go_on(s)
}

/// D41: a grant for exactly the attempt that rests.
pub(super) fn approve(s: &mut Step<'_>, attempt: u32) -> Result<Next, Refusal> {
    match s.r.phase {
        Phase::Asking { attempt: asked } if asked == attempt => {}
        _ => return refuse(RefusalKind::NotOffered, "no request of this number rests until it is approved"),
    }
    if let Some(reason) = machine::spent(&s.r, s.at) {
        return Ok(s.escalate(reason));
    }
    s.r.approved_attempt = Some(attempt);
    let at = s.at;
    Ok(delay::wait(s, at, at, DelaySource::ManualExtension))
}
