use alloc::vec::Vec;

use super::*;

const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn ratio(num: u32, den: u32) -> Ratio {
    Ratio { num, den }
}

/// The defaults of D23.
fn pace() -> Pace {
    Pace {
        first_delay: None,
        base: 5_000,
        max: 120_000,
        factor: ratio(2, 1),
        floor: ratio(1, 2),
        min_delay: 1_000,
        max_interval: None,
        max_hint: None,
        spread: ratio(1, 10),
        throttle_steps: 3,
        on_hint_past_deadline_escalate: false,
    }
}

fn seed() -> [u8; 32] {
    parse_seed(SEED).unwrap()
}

/// The definition, step by step.
fn raw_naively(pace: &Pace, n: u32) -> u64 {
    let mut value = u128::from(pace.base.min(pace.max));
    for _ in 0..n {
        value = (value * u128::from(pace.factor.num) / u128::from(pace.factor.den)).min(u128::from(pace.max));
    }
    u64::try_from(value).unwrap()
}

#[test]
fn d23_the_defaults_double_up_to_the_maximum() {
    let values: Vec<u64> = (0..7).map(|n| raw(&pace(), n)).collect();
    assert_eq!(values, [5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]);
    assert_eq!(raw(&pace(), u32::MAX), 120_000);
    assert_eq!(raw(&Pace { base: 200_000, ..pace() }, 0), 120_000);
}

#[test]
fn d23_raw_is_its_definition_for_any_ratio() {
    let ratios = [
        (1, 1),
        (2, 1),
        (3, 2),
        (11, 10),
        (7, 5),
        (1_001, 1_000),
        (1_000_001, 1_000_000),
        (u32::MAX, u32::MAX - 1),
        (u32::MAX, 1),
    ];
    for (num, den) in ratios {
        for base in [1, 2, 9, 10, 999, 1_000, 5_003, 2_000_003, 4_294_967_296] {
            for max in [base, base + 1, 1_000_000, 3_162_240_000_000, u64::MAX] {
                let pace = Pace { base, max, factor: ratio(num, den), ..pace() };
                for n in [0, 1, 2, 3, 5, 17, 64, 333, 2_000] {
                    assert_eq!(raw(&pace, n), raw_naively(&pace, n), "{base} * ({num}/{den})^{n} up to {max}");
                }
            }
        }
    }
}

#[test]
fn d23_raw_ends_soon_for_any_number_of_attempts() {
    for factor in [ratio(1, 1), ratio(1_001, 1_000), ratio(1_000_001, 1_000_000), ratio(u32::MAX, u32::MAX - 1)] {
        for base in [1, 1_000_000, 4_294_967_296] {
            let pace = Pace { base, max: u64::MAX, factor, ..pace() };
            assert!(raw(&pace, u32::MAX) >= base);
        }
    }
    let falling = Pace { factor: ratio(1, 2), ..pace() };
    assert_eq!(raw(&falling, u32::MAX), 5_000);
}

/// Known answers: a change here changes every delay of every running operation. Made by a second implementation.
#[test]
fn d23_draws_are_these_numbers_in_every_language() {
    let draws = |attempt, nth| [draw(&seed(), attempt, nth, 0, u64::MAX), draw(&seed(), attempt, nth, 2_500, 5_000)];
    assert_eq!(draws(0, 0), [7_686_257_455_104_398_656, 3_426]);
    assert_eq!(draws(1, 0), [13_623_057_893_742_724_943, 3_758]);
    assert_eq!(draws(1, 1), [4_341_466_159_258_343_661, 3_068]);
    assert_eq!(draws(u32::MAX, 1), [7_377_517_374_574_063_469, 3_953]);
    let jitters = [1, 2, 3, 4].map(|attempt| jitter(&pace(), &seed(), attempt, 80_000));
    assert_eq!(jitters, [59_704, 44_833, 73_763, 62_848]);
    let spreads = [1, 2, 3, 4].map(|attempt| spread(&pace(), &seed(), attempt, 120_000));
    assert_eq!(spreads, [9_137, 11_027, 11_103, 1_243]);
}

/// Of 2^63 + 1 numbers almost half of all `x` are dropped: none here, one, none, two, and ten, which reaches the next block.
#[test]
fn d23_dropped_words_are_replaced_by_the_next() {
    let drawn = [1, 2, 3, 4, 1_328].map(|attempt| draw(&seed(), attempt, 0, 0, 1 << 63));
    let expected = [
        4_399_685_856_887_949_134,
        2_170_772_919_473_618_465,
        4_703_355_230_253_148_709,
        5_503_520_289_802_750_042,
        9_106_929_188_123_665_325,
    ];
    assert_eq!(drawn, expected);
}

/// The key, nonce and counter of zero: words that other ChaCha8 libraries publish.
#[test]
fn d23_the_words_are_chacha8() {
    // 3e00ef2f895f40d6 7f5bb8e81f09a5a1 is how the key stream begins (draft-strombergson-chacha-test-vectors, TC1).
    assert_eq!(draw(&[0; 32], 0, 0, 0, u64::MAX), u64::from_le_bytes([0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]));
}

#[test]
fn d23_both_ends_are_drawn_and_nothing_beyond() {
    let mut counts = [0u32; 7];
    for attempt in 0..7_000 {
        let value = draw(&seed(), attempt, 0, 10, 16);
        assert!((10..=16).contains(&value));
        counts[usize::try_from(value - 10).unwrap()] += 1;
    }
    // A thousand each; five standard deviations are 146.
    assert!(counts.iter().all(|count| (854..=1_146).contains(count)), "{counts:?}");
    assert_eq!(draw(&seed(), 1, 0, 5, 5), 5);
    assert_eq!(draw(&seed(), 1, 0, 6, 5), 6);
    assert!((0..200).any(|attempt| draw(&seed(), attempt, 0, u64::MAX - 1, u64::MAX) == u64::MAX));
}

#[test]
fn d23_jitter_stays_between_floor_and_raw() {
    for (num, den) in [(0, 1), (1, 3), (1, 2), (99, 100), (1, 1), (5, 1)] {
        let pace = Pace { floor: ratio(num, den), ..pace() };
        for raw in [0, 1, 2, 3, 1_001, 120_000, u64::MAX] {
            let low = (u128::from(raw) * u128::from(num)).div_ceil(u128::from(den)).min(u128::from(raw));
            for attempt in 0..40 {
                let delay = jitter(&pace, &seed(), attempt, raw);
                assert!(u128::from(delay) >= low && delay <= raw, "{num}/{den} of {raw}: {delay}");
            }
        }
    }
    let full = Pace { floor: ratio(0, 1), ..pace() };
    assert!((0..50).any(|attempt| jitter(&full, &seed(), attempt, 3) == 0), "0 is full jitter");
}

#[test]
fn d24_spread_is_up_to_its_share_rounded_up() {
    let drawn = |guidance| (0..100).map(|attempt| spread(&pace(), &seed(), attempt, guidance)).max();
    assert_eq!(drawn(0), Some(0));
    assert_eq!(drawn(1), Some(1));
    assert_eq!(drawn(11), Some(2));
    let none = Pace { spread: ratio(0, 1), ..pace() };
    assert_eq!(spread(&none, &seed(), 1, 120_000), 0);
    assert!(spread(&pace(), &seed(), 1, u64::MAX) <= u64::MAX.div_ceil(10));
}

#[test]
fn d6_seeds_attempts_and_draws_are_independent() {
    let other = parse_seed(&SEED.replace("00", "01")).unwrap();
    let mut values = Vec::new();
    for seed in [seed(), other] {
        for attempt in 0..50 {
            for nth in [JITTER, SPREAD] {
                values.push(draw(&seed, attempt, nth, 0, u64::MAX));
            }
        }
    }
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 200);
}

#[test]
fn a_seed_is_64_hexadecimal_digits() {
    assert_eq!(seed()[31], 0x1f);
    assert_eq!(parse_seed(&SEED.to_uppercase()), Some(seed()));
    for bad in ["", &SEED[1..], &SEED.replace('f', "g"), &SEED.replace("00", "+0"), &SEED.replace("00", "é")] {
        assert_eq!(parse_seed(bad), None, "{bad}");
    }
    assert_eq!(parse_seed(&alloc::format!("{SEED}0")), None);
}
