//! A person's decisions, stepped and saved like any other event (D38).

use super::tick::checked;
use super::{ControlError, Controller, derive, open, staged, whole};
use crate::component::types::{self, DecisionWhat, Event, What};
use crate::store::{ContractText, Loaded, Staged};

/// What is decided.
#[derive(Debug, Clone)]
pub enum Choice {
    /// One of the options of D33, or an answer to what was asked.
    Option(DecisionWhat),
    /// A revised contract, by its text (D10).
    Amend {
        /// The new contract's text.
        contract: String,
        /// Carried with it.
        extension: Option<types::Extension>,
    },
    /// The operation goes on with the component of this controller (D48).
    UseComponent,
}

/// Who decides, why, and on what view.
#[derive(Debug, Clone)]
pub struct Deciding {
    /// The same id again changes nothing.
    pub id: String,
    /// Who.
    pub by: String,
    /// `os_user` where nothing verified the name (D40).
    pub role: String,
    /// Why.
    pub why: String,
    /// The revision that was seen; `None`: whatever it is now.
    pub revision: Option<u64>,
}

impl Controller {
    /// Applies a decision. A row that bears the mark of a failed component gets its entry first (D33).
    ///
    /// # Errors
    /// [`ControlError::Refused`] where it is stale, not offered, not allowed or over a ceiling; nothing has changed then.
    pub fn decide(&self, id: &str, who: &Deciding, choice: &Choice) -> Result<types::Transition, ControlError> {
        let stored = self.stored(id)?;
        if matches!(choice, Choice::UseComponent) {
            return self.use_component(id, who);
        }
        let component = self.pinned(&stored.row.component_digest)?;
        let marked = self.account_for_mark(id, &component)?;
        let mut made = None;
        let saved = self.store.step(id, &mut |loaded| {
            let seen = if marked { None } else { who.revision };
            let (transition, staged) = decided(&component, loaded, who, choice, seen).map_err(ControlError::boxed)?;
            made = Some(transition);
            Ok(staged)
        });
        self.guarded(id, saved.map_err(ControlError::from))?;
        made.ok_or_else(|| open::broken("a decision that was not made"))
    }

    /// The event `faulted` precedes the next decision, and from it the component writes the entry (D33).
    fn account_for_mark(&self, id: &str, component: &crate::component::Component) -> Result<bool, ControlError> {
        let mut marked = false;
        self.store.step(id, &mut |loaded| {
            let Some(mark) = &loaded.mark else {
                return Ok(None);
            };
            marked = true;
            let what = What::Faulted(derive::fault_kind(&mark.kind));
            let event = Event { at: loaded.at, what };
            let transition = checked(component, loaded, &loaded.contract, &event).map_err(ControlError::boxed)?;
            let mut staged = staged(&transition).map_err(ControlError::boxed)?;
            if let Some(staged) = &mut staged {
                staged.clears_mark = true;
            }
            Ok(staged)
        })?;
        Ok(marked)
    }

    /// D48: by a decision, or where the pinned one can't run.
    fn use_component(&self, id: &str, who: &Deciding) -> Result<types::Transition, ControlError> {
        let stored = self.stored(id)?;
        self.store.put_component(&self.stored_component()?)?;
        let change = types::ComponentChange { component: self.component.sha256().to_owned(), by: who.by.clone() };
        if stored.mark.is_some() {
            self.account_for_mark(id, &self.component)?;
        }
        let made = self.apply(id, &self.component, What::ComponentChanged(change), |_, _| Ok(()))?;
        made.map(|applied| applied.transition).ok_or_else(|| open::broken("a change that was not made"))
    }
}

type Made = (types::Transition, Option<Staged>);

fn decided(
    component: &crate::component::Component,
    loaded: &Loaded,
    who: &Deciding,
    choice: &Choice,
    seen: Option<u64>,
) -> Result<Made, ControlError> {
    let before = whole::readable(component, &loaded.row.operation_id, &loaded.record)?;
    let (what, contract) = match choice {
        Choice::Option(what) => (what.clone(), None),
        Choice::Amend { contract, extension } => {
            let digest = open::sha256(contract.as_bytes());
            let what = DecisionWhat::Amend(types::AmendDecision { contract: digest.clone(), extension: *extension });
            (what, Some(ContractText { digest, text: contract.clone() }))
        }
        Choice::UseComponent => return Err(open::broken("a change of component is no decision")),
    };
    let decision = types::Decision {
        id: who.id.clone(),
        by: who.by.clone(),
        role: who.role.clone(),
        why: who.why.clone(),
        revision: seen.unwrap_or(before.authority_revision),
        what,
        proposal: None,
    };
    let text = contract.as_ref().map_or(&*loaded.contract, |contract| contract.text.as_str());
    let event = Event { at: loaded.at, what: What::Decided(decision) };
    let transition = checked(component, loaded, text, &event)?;
    let mut staged = staged(&transition)?;
    if let Some(staged) = &mut staged {
        staged.authority = true;
        staged.contract = contract;
        staged.drops = Controller::dropped(&transition.operation);
    }
    Ok((transition, staged))
}
