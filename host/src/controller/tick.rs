//! One look at one operation: at most one request.

use std::time::Duration;

use super::send::{self, Exchange};
use super::{ControlError, Controller, staged, whole};
use crate::bounds::{check_bounds, check_plan};
use crate::component::Component;
use crate::component::types::{self, What};
use crate::credential::Credential;
use crate::store::{Charge, Loaded, Outcome, Phase, Staged, Stored};

/// What a look came to.
#[derive(Debug, Clone)]
pub struct Tick {
    /// The operation after it.
    pub operation: types::Operation,
    /// What the component said last; `None` where nothing was asked of it.
    pub action: Option<types::Action>,
    /// The lines that were added to the story, the charge's among them.
    pub sentences: Vec<String>,
    /// What the operator should know besides: why a request could not be sent, say.
    pub detail: Option<String>,
    /// The row bears the mark of a component that failed.
    pub marked: Option<String>,
}

/// A step that was made, and followed ids that another operation holds (D4).
pub(super) struct Applied {
    pub(super) transition: types::Transition,
    contested: Vec<crate::store::Contested>,
}

/// Who looks at an answer before it is reduced.
type Seen<'a> = &'a mut (dyn FnMut(&types::Answer) + Send);

/// A charge that has committed.
struct Paid {
    transition: types::Transition,
    contract: std::sync::Arc<str>,
    attempt: u32,
    fence: u64,
    timeout: Duration,
    /// Monotonic time.
    at: Duration,
}

impl Controller {
    /// Looks at an operation once: claims it if it is due, sends what was paid for, and saves what came of it.
    ///
    /// # Errors
    /// What store, component or credential say. Nothing was sent unless its charge had committed (I14).
    pub async fn tick(&self, id: &str) -> Result<Tick, ControlError> {
        self.look(id, &mut |_: &types::Answer| ()).await
    }

    /// [`Controller::tick`], which also hands over the answer as it came, before it is reduced to what the contract names.
    pub(crate) async fn look(&self, id: &str, seen: Seen<'_>) -> Result<Tick, ControlError> {
        let stored = self.stored(id)?;
        let (component, operation) = self.view(&stored)?;
        if stored.mark.is_some() || matches!(stored.row.phase, Phase::Escalated | Phase::Settled) {
            return Ok(quiet(operation, stored.mark.map(|mark| mark.kind)));
        }
        let now = self.store.now()?;
        if stored.row.next_at.is_none_or(|next| next > now) {
            return Ok(quiet(operation, None));
        }
        let ready = matches!(stored.row.phase, Phase::Waiting) && now < stored.row.deadline_at;
        let credential = match ready {
            true => self.credential(&stored, operation.credential.as_deref()).await,
            false => Ok(None),
        };
        let credential = match credential {
            Ok(credential) => credential,
            Err(error) => {
                // Without its credential nothing is sent; a deadline still ends the wait.
                return Ok(Tick { detail: Some(error.to_string()), ..quiet(operation, None) });
            }
        };
        let (secret, fact) = credential.map_or((None, None), |(credential, fact)| (Some(credential), Some(fact)));
        let mut sentences = Vec::new();
        let (last, paid) = self.guarded(id, self.claim(id, &component, fact.as_ref()))?;
        let Some(last) = last else {
            return self.again(id);
        };
        sentences.extend(last.sentence.clone());
        let Some(paid) = paid else {
            return Ok(Tick {
                operation: last.operation,
                action: Some(last.action),
                sentences,
                detail: None,
                marked: None,
            });
        };
        let (transition, detail) = self.exchange(id, &component, paid, secret, seen).await?;
        sentences.extend(transition.sentence.clone());
        Ok(Tick { operation: transition.operation, action: Some(transition.action), sentences, detail, marked: None })
    }

    /// The operation as it is stored.
    ///
    /// # Errors
    /// [`crate::store::StoreError::NotFound`].
    pub fn stored(&self, id: &str) -> Result<Stored, ControlError> {
        let found = self.store.get(id)?;
        found.ok_or_else(|| crate::store::StoreError::NotFound(id.to_owned()).into())
    }

    /// Somebody else was faster: tell how it stands now.
    fn again(&self, id: &str) -> Result<Tick, ControlError> {
        let stored = self.stored(id)?;
        let (_, operation) = self.view(&stored)?;
        Ok(quiet(operation, stored.mark.map(|mark| mark.kind)))
    }

    /// Claim, reload, step and charge, as one transaction ("The order of checks").
    fn claim(
        &self,
        id: &str,
        component: &Component,
        credential: Option<&types::CredentialFact>,
    ) -> Result<(Option<types::Transition>, Option<Paid>), ControlError> {
        let mut made = None;
        let mut paid = None;
        let outcome = self.store.claim(id, &mut |loaded| {
            if loaded.row.component_digest != component.sha256() {
                return Ok(None);
            }
            let (transition, staged, charge) =
                self.lease(component, loaded, credential).map_err(ControlError::boxed)?;
            paid = charge;
            made = Some(transition);
            Ok(staged)
        })?;
        Ok(match outcome {
            Outcome::Saved(_) => (made, paid),
            // Nothing was asked for: the component rests, or the operation wasn't due.
            Outcome::Unchanged => (made.filter(|made| made.entry.is_none()), None),
            // The charging statement changed nothing: nothing is sent, a fresh look follows.
            Outcome::ChargeRefused => (self.woke(id, component)?, None),
        })
    }

    /// `leased`: the step, and the charge that it asks for.
    fn lease(
        &self,
        component: &Component,
        loaded: &Loaded,
        credential: Option<&types::CredentialFact>,
    ) -> Result<Leased, ControlError> {
        let before = whole::readable(component, &loaded.row.operation_id, &loaded.record)?;
        let fence = loaded.next_fence();
        let expires_at = loaded.at.saturating_add(before.lease_ms);
        let what = What::Leased(types::LeasedEvent { fence, expires_at, credential: credential.cloned() });
        let event = types::Event { at: loaded.at, what };
        let transition = checked(component, loaded, &loaded.contract, &event)?;
        let mut staged = staged(&transition)?;
        let mut paid = None;
        if let types::Action::Send(send) = &transition.action {
            let staged = staged.as_mut().ok_or_else(|| super::open::broken("a request without an entry"))?;
            staged.charge = Some(Charge { attempt: send.attempt, fence, lease_expires_at: expires_at });
            paid = Some(Paid {
                transition: transition.clone(),
                contract: std::sync::Arc::clone(&loaded.contract),
                attempt: send.attempt,
                fence,
                timeout: Duration::from_millis(send.timeout_ms),
                at: self.clock.monotonic(),
            });
        } else if let Some(staged) = &mut staged {
            staged.drops = Self::dropped(&transition.operation);
        }
        Ok((transition, staged, paid))
    }

    /// A fresh `woke`, after a charge that the store refused.
    fn woke(&self, id: &str, component: &Component) -> Result<Option<types::Transition>, ControlError> {
        let what = What::Woke(types::WokeEvent { credential: None });
        Ok(self.apply(id, component, what, |_, _| Ok(()))?.map(|applied| applied.transition))
    }

    /// One step in one transaction, checked against the bounds. `more` adds to what is saved.
    pub(super) fn apply(
        &self,
        id: &str,
        component: &Component,
        what: What,
        more: impl Fn(&types::Transition, &mut Staged) -> Result<(), ControlError>,
    ) -> Result<Option<Applied>, ControlError> {
        let mut made = None;
        let outcome = self.store.step(id, &mut |loaded| {
            let event = types::Event { at: loaded.at, what: what.clone() };
            let transition = checked(component, loaded, &loaded.contract, &event).map_err(ControlError::boxed)?;
            let mut staged = staged(&transition).map_err(ControlError::boxed)?;
            if let Some(staged) = &mut staged {
                more(&transition, staged).map_err(ControlError::boxed)?;
                staged.drops = Self::dropped(&transition.operation);
            }
            made = Some(transition);
            Ok(staged)
        })?;
        let contested = match outcome {
            Outcome::Saved(saved) => saved.contested,
            Outcome::Unchanged | Outcome::ChargeRefused => Vec::new(),
        };
        Ok(made.map(|transition| Applied { transition, contested }))
    }

    /// Monotonic time since an instant of it.
    pub(super) fn since(&self, at: Duration) -> Duration {
        self.clock.monotonic().saturating_sub(at)
    }

    /// Sends, reads, and saves what came of it, as long as the lease may still live.
    async fn exchange(
        &self,
        id: &str,
        component: &Component,
        paid: Paid,
        credential: Option<Credential>,
        whole: Seen<'_>,
    ) -> Result<(types::Transition, Option<String>), ControlError> {
        let (attempt, fence) = (paid.attempt, paid.fence);
        let lease = Duration::from_millis(paid.transition.operation.lease_ms);
        let planned = component.request(&paid.contract, &paid.transition.record).map_err(ControlError::from);
        let plan = self.guarded(id, planned.and_then(|plan| planned_within(&paid, plan)))?;
        let secret = credential.as_ref().map(|credential| &credential.value);
        let exchange = self.send(id, plan, secret, paid.timeout, paid.at).await;
        drop(credential);
        let (what, kept, detail) = match exchange {
            Exchange::Fault(fault, detail) => {
                (What::Unanswered(types::UnansweredEvent { attempt, fence, fault }), Vec::new(), Some(detail))
            }
            Exchange::Answer(answer) => {
                whole(&answer);
                let seen = component.observe(&paid.contract, Some(&paid.transition.record), &answer);
                let seen = self.guarded(id, seen.map_err(ControlError::from))?;
                let what = What::Answered(types::AnsweredEvent { attempt, fence, observation: seen.observation });
                (what, seen.kept, None)
            }
        };
        loop {
            let saved = self.apply(id, component, what.clone(), |transition, staged| {
                staged.expect_fence = Some(fence);
                staged.kept = self.kept(&transition.operation, &kept)?;
                Ok(())
            });
            match self.guarded(id, saved) {
                Ok(Some(applied)) => {
                    let shared = applied.contested.iter().map(|other| {
                        format!("job `{}` is waited for by operation {} too; both go on", other.job, other.holder)
                    });
                    let said: Vec<String> = detail.into_iter().filter(|text| !text.is_empty()).chain(shared).collect();
                    return Ok((applied.transition, (!said.is_empty()).then(|| said.join("; "))));
                }
                Ok(None) => return Err(super::open::broken("a step that was not made")),
                // The answer is at hand: it is tried again as long as its lease may live, then it counts as lost.
                Err(error) if send::may_pass(&error) && self.since(paid.at) < lease => {
                    self.clock.sleep_until(self.clock.now_ms().saturating_add(send::RETRY_MS)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn quiet(operation: types::Operation, marked: Option<String>) -> Tick {
    Tick { operation, action: None, sentences: Vec::new(), detail: None, marked }
}

/// A step, within the bounds that no component may break.
pub(super) fn checked(
    component: &Component,
    loaded: &Loaded,
    contract: &str,
    event: &types::Event,
) -> Result<types::Transition, ControlError> {
    let before = whole::whole(component, &loaded.row, &loaded.record)?;
    let transition = component.step(contract, &loaded.record, event)?;
    check_bounds(&before, event, &transition).map_err(|why| super::open::broken(&why))?;
    Ok(transition)
}

/// A plan, within what the contract allows: the component that made it may be any.
fn planned_within(paid: &Paid, plan: types::RequestPlan) -> Result<types::RequestPlan, ControlError> {
    check_plan(&paid.contract, &paid.transition.operation, &plan).map_err(|why| super::open::broken(&why))?;
    Ok(plan)
}

type Leased = (types::Transition, Option<Staged>, Option<Paid>);
