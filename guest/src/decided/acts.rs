//! What the other decisions do: amend, renew, hold, adopt, approve (D10, D33, D41).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    grant::{carry, go_on, stay},
    refuse,
};
use crate::{
    api::{DelaySource, Extension, Fault, Phase, Refusal, RefusalKind, Renewal},
    delay, machine, open,
    record::Address,
    request,
    step::{Next, Step},
    time::Instant,
    url::Url,
};

/// D10: a contract revision, adopted for this operation. Limits stay; nothing already seen is judged again.
pub(super) fn amend(s: &mut Step<'_>, contract: &str, extension: Option<&Extension>) -> Result<Next, Refusal> {
    if s.r.contract_digest == contract {
        return refuse(RefusalKind::InvalidEvent, "the operation is under this contract already");
    }
    suits(s)?;
    let stage = s.stage();
    s.r.address = amended_address(s).map_err(|why| {
        Refusal::new(RefusalKind::InvalidContract, format!("the status address can't be used: {why}"))
    })?;
    s.r.contract_digest = contract.into();
    s.r.approval_per_request |= stage.asks_for_each();
    s.r.backoff_n = 0;
    // A 304 would repeat what was judged under the old text: the answer is asked for anew.
    s.r.etag = None;
    carry(s, extension)?;
    go_on(s)
}

/// A revision has this operation's stage, id parts and facts, and its requests fit in the lease (D1, D3): else echoes and
/// conditions would quietly say nothing.
fn suits(s: &Step<'_>) -> Result<(), Refusal> {
    let mut faults: Vec<Fault> = Vec::new();
    if s.contract.stages().count() <= usize::try_from(s.r.stage).unwrap_or(usize::MAX) {
        faults.push(Fault {
            pointer: "/follow/contract".into(),
            message: "the job has been followed to a stage that this contract lacks".into(),
        });
    }
    if s.r.stage == 0 && s.r.address.is_some() {
        open::check_job(s.contract, &s.r.job, "/request/id_parts", &mut faults);
    }
    open::check_declared(s.contract, &s.r.ctx, &mut faults);
    if s.contract.stages().any(|stage| stage.request.timeout >= s.r.lease_ms) {
        faults.push(Fault {
            pointer: "/request/timeout".into(),
            message: format!("a request must be shorter than the lease of {} ms (D3)", s.r.lease_ms),
        });
    }
    match faults.first() {
        None => Ok(()),
        Some(first) => {
            let message = format!("this contract doesn't suit the operation: {}", first.message);
            Err(Refusal { kind: RefusalKind::InvalidContract, message, faults })
        }
    }
}

/// The address under the new text: built again from its template, or kept where its origins still allow it (D28).
fn amended_address(s: &Step<'_>) -> Result<Option<Address>, String> {
    let Some(address) = &s.r.address else {
        return Ok(None);
    };
    let stage = s.stage();
    if address.template
        && let Some(built) = request::address_from_template(stage, &s.r.job, &s.r.ctx)?
    {
        return Ok(Some(built));
    }
    let url = Url::parse(&address.url).map_err(|error| format!("{error}"))?;
    request::allowed(stage, &url)?;
    Ok(Some(address.clone()))
}

/// D33: `rotated` is checked by its keyed digest, `access_restored` is attested by the decider's name.
pub(super) fn renew(s: &mut Step<'_>, renewal: &Renewal, credential: Option<&String>) -> Result<(), Refusal> {
    if let Renewal::Rotated { digest } = renewal {
        let why = match &s.r.credential_digest {
            _ if !open::is_name(digest) => Some("the digest of the new credential is missing"),
            None => Some("nothing is known of the credential that was refused, so a rotation can't be checked"),
            Some(refused) if refused == digest => Some("the credential is the one that was refused"),
            Some(_) => None,
        };
        if let Some(why) = why {
            let what = "rotate it, or attest that its access was restored";
            return refuse(RefusalKind::InvalidEvent, format!("{why}: {what}"));
        }
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
