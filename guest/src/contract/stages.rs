//! The contracts that `follow` leads through, as one chain (D28).

use core::iter;

use super::{Approval, Contract, EffectsKind};
use crate::limits::STAGES_MAX;

impl Contract {
    /// This contract, and those that `follow` leads to, in order.
    pub fn stages(&self) -> impl Iterator<Item = &Contract> {
        iter::successors(Some(self), |contract| contract.next()).take(STAGES_MAX)
    }

    fn next(&self) -> Option<&Contract> {
        self.follow.as_ref()?.contract.as_deref()
    }

    /// The contract in force after `stage` follows; the last one where there is no further.
    pub fn stage(&self, stage: u32) -> &Contract {
        let nth = usize::try_from(stage).unwrap_or(usize::MAX).saturating_add(1);
        self.stages().take(nth).last().unwrap_or(self)
    }

    /// Each of its requests needs an approval of its own (D5, D41).
    pub fn asks_for_each(&self) -> bool {
        self.approval == Approval::PerRequest || self.effects.kind != EffectsKind::None
    }
}
