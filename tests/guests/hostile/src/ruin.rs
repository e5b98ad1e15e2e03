//! Variants that never come back from a step.
#![allow(clippy::panic, reason = "that is what they are for")]

use alloc::vec::Vec;
use core::hint::black_box;

/// Spins, grows, recurses or traps, if the variant says so.
pub(super) fn perhaps() {
    if super::is("spin") {
        spin();
    }
    if super::is("grow") {
        grow();
    }
    if super::is("recurse") {
        black_box(recurse(0));
    }
    if super::is("trap") {
        panic!("as asked");
    }
}

fn spin() {
    let mut turns = 0u64;
    while black_box(true) {
        turns = turns.wrapping_add(1);
        black_box(turns);
    }
}

fn grow() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    while black_box(true) {
        kept.push(black_box(alloc::vec![1u8; 1 << 20]));
    }
}

fn recurse(depth: u64) -> u64 {
    if black_box(false) {
        return depth;
    }
    black_box(recurse(black_box(depth.wrapping_add(1)))).wrapping_add(depth)
}
