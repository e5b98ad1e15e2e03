//! When to ask again without guidance (D23), and the chance in it.
//!
//! The chance is a function of the seed and the attempt alone, so that any step replays by itself and another language gets
//! the same delays. [`draw`] says how, to the word.

use core::num::NonZeroU64;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::contract::{Pace, Ratio};

/// The first draw of an attempt: the jitter.
const JITTER: u32 = 0;
/// The second: the spread after a refusal (D24).
const SPREAD: u32 = 1;
/// Words between the beginnings of two draws of an attempt: 256 blocks of 16.
const WORDS_PER_DRAW: u128 = 4_096;

/// `min(max, base * factor^n)` in milliseconds: beginning with `base`, `n` times `floor(value * num / den)`, never above
/// `max`. A factor below one counts as one. Does not get slower with a large `n`.
pub fn raw(pace: &Pace, n: u32) -> u64 {
    let growth = Ratio { num: pace.factor.num.saturating_sub(pace.factor.den), den: pace.factor.den };
    let mut value = pace.base.min(pace.max);
    let mut left = u64::from(n);
    while left > 0 && value < pace.max {
        let gain = scale(growth, value, Round::Down);
        if gain == 0 {
            break;
        }
        // A factor near one gains the same for many steps: take those at once.
        let inverse = Ratio { num: growth.den, den: growth.num };
        let gains_more_from = scale(inverse, gain.saturating_add(1), Round::Up);
        let steps = gains_more_from.saturating_sub(value).div_ceil(gain).clamp(1, left);
        value = value.saturating_add(steps.saturating_mul(gain)).min(pace.max);
        left = left.saturating_sub(steps);
    }
    value
}

/// What [`raw`] is after one attempt more, from what it is now.
pub(crate) fn grown(pace: &Pace, raw: u64) -> u64 {
    let growth = Ratio { num: pace.factor.num.saturating_sub(pace.factor.den), den: pace.factor.den };
    raw.saturating_add(scale(growth, raw, Round::Down)).min(pace.max)
}

/// The least that [`jitter`] makes of `raw`: `raw` times the floor, rounded up to milliseconds, and no more than `raw`.
pub fn low(pace: &Pace, raw: u64) -> u64 {
    scale(pace.floor, raw, Round::Up).min(raw)
}

/// The delay of D23 in milliseconds: uniform between [`low`] and `raw`, both included.
pub fn jitter(pace: &Pace, seed: &[u8; 32], attempt: u32, raw: u64) -> u64 {
    draw(seed, attempt, JITTER, low(pace, raw), raw)
}

/// What is added to a refusal's guidance (D24), in milliseconds: uniform between 0 and `guidance_ms` times the spread,
/// rounded up, both included.
pub fn spread(pace: &Pace, seed: &[u8; 32], attempt: u32, guidance_ms: u64) -> u64 {
    draw(seed, attempt, SPREAD, 0, scale(pace.spread, guidance_ms, Round::Up))
}

/// A whole number between `low` and `high`, both included, each as likely; `low` where `high` is not above it.
///
/// 1. The words are ChaCha with 8 rounds in Bernstein's layout: 4 constant words, the 32 bytes of the seed as key, a block
///    counter of 64 bits, a stream number of 64 bits, all little-endian. The stream number is `attempt`.
/// 2. The counter begins at `256 * nth`; `nth` is 0 for the jitter, 1 for the spread. What one draw needs never reaches the
///    next.
/// 3. `x` is 64 bits: one word, and the next one times 2^32.
/// 4. With `count = high - low + 1`, an `x` below `2^64 mod count` is dropped, and the next 64 bits are taken; else the result
///    is `low + x mod count`. Where `count` is 2^64, the result is `x`.
pub fn draw(seed: &[u8; 32], attempt: u32, nth: u32, low: u64, high: u64) -> u64 {
    let Some(width) = high.checked_sub(low).filter(|width| *width > 0) else {
        return low;
    };
    let mut words = ChaCha8Rng::from_seed(*seed);
    words.set_stream(u64::from(attempt));
    words.set_word_pos(u128::from(nth).saturating_mul(WORDS_PER_DRAW));
    let Some(count) = width.checked_add(1).and_then(NonZeroU64::new) else {
        return take(&mut words);
    };
    // 2^64 mod count, in 64 bits.
    let dropped = count.get().wrapping_neg() % count;
    loop {
        let x = take(&mut words);
        if x >= dropped {
            return low.saturating_add(x % count);
        }
    }
}

fn take(words: &mut ChaCha8Rng) -> u64 {
    let low = u64::from(words.next_u32());
    let high = u64::from(words.next_u32());
    low | high << 32
}

/// The seed that 64 hexadecimal digits write, in either case.
pub fn parse_seed(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 {
        return None;
    }
    let mut seed = [0u8; 32];
    let mut digits = hex.bytes().map(|digit| char::from(digit).to_digit(16));
    for byte in &mut seed {
        let value = digits.next()??.checked_mul(16)?.checked_add(digits.next()??)?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(seed)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Down,
    Up,
}

/// `value * num / den`, exact whatever the size; at most `u64::MAX`.
fn scale(ratio: Ratio, value: u64, round: Round) -> u64 {
    let Some(den) = NonZeroU64::new(u64::from(ratio.den)) else {
        // INVARIANT (ratio): no parsed ratio has a zero below.
        return value;
    };
    let num = u64::from(ratio.num);
    // The rest is below 2^32, and so is num: their product fits.
    let rest = (value % den).saturating_mul(num);
    let rest = if round == Round::Up { rest.div_ceil(den.get()) } else { rest / den };
    (value / den).saturating_mul(num).saturating_add(rest)
}

#[cfg(test)]
mod tests;
