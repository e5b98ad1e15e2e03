//! Seeded walks: what a host does, what it might do wrong, and what people do, in any order. A log that came of one verifies.

use super::*;

/// Splitmix64: small, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

struct Walk {
    chance: Chance,
    contract: String,
    contracts: Vec<String>,
    record: String,
    entries: Vec<String>,
    decisions: u32,
}

impl Walk {
    fn new(seed: u64) -> Walk {
        let mut chance = Chance(seed);
        let all = contracts();
        let mut contract = all[chance.below(all.len())].1.clone();
        // With grants to spare a walk goes on long enough to grow what can grow.
        contract = contract.replace("\"extension\": {", "\"max_extensions\": 1000, \"extension\": {");
        let mut opening = tight();
        opening.seed = format!("{seed:064x}");
        if chance.one_in(2) {
            opening.limits = Default::default();
        }
        let opened = open::open(&contract, &opening, at("10:20:00")).unwrap();
        let (entries, contracts) = (opened.entry.into_iter().collect(), Vec::from([contract.clone()]));
        Walk { chance, contract, contracts, record: opened.record, entries, decisions: 0 }
    }

    fn record(&self) -> Record {
        Record::parse(&self.record).unwrap()
    }

    /// Around the next time that matters, seldom far off or back.
    fn time(&mut self, r: &Record) -> Instant {
        let next = r.next_at().unwrap_or(r.last_at);
        match self.chance.below(12) {
            0 => r.last_at,
            1 => Instant::from_ms(r.last_at.ms() - 5_000).unwrap(),
            2 => Instant::from_ms(next.ms() - 1).unwrap(),
            3 => next.plus(u64::from(u32::try_from(self.chance.below(900_000)).unwrap())),
            4 if self.chance.one_in(6) => r.stop_at(),
            _ => next,
        }
    }

    fn event(&mut self, r: &Record, when: Instant) -> What {
        let seen = seen(&self.contract, &self.record, when);
        if self.chance.one_in(4) {
            let mut all = events(r, &seen, when);
            return all.swap_remove(self.chance.below(all.len()));
        }
        match &r.phase {
            Phase::Waiting { .. } => What::Leased {
                fence: r.fence + 1 + u64::from(self.chance.one_in(3)),
                expires_at: when.plus(60_000),
                credential: None,
            },
            Phase::Polling { attempt, fence, .. } => {
                // Mostly what lets a wait go on.
                let of = if self.chance.one_in(3) { seen.len() } else { 3 };
                let observation = Box::new(seen[self.chance.below(of)].clone());
                What::Answered { attempt: *attempt, fence: *fence, observation }
            }
            Phase::Asking { attempt } => self.decision(r, DecisionWhat::Approve { attempt: *attempt }),
            Phase::Escalated { .. } | Phase::Settled { .. } => {
                let mut all = decisions(r);
                if !self.chance.one_in(8) {
                    all.retain(|what| !matches!(what, DecisionWhat::Close | DecisionWhat::AcceptResult));
                }
                let what = all.swap_remove(self.chance.below(all.len()));
                self.decision(r, what)
            }
        }
    }

    fn decision(&mut self, r: &Record, what: DecisionWhat) -> What {
        self.decisions += 1;
        decided(r.authority_revision, &format!("d{}", self.decisions), what)
    }

    /// Adopts a text that differs, and with it knows one more word.
    fn amend(&mut self, r: &Record, when: Instant) {
        let word = format!("\"odd\": \"pending\", \"w{}\": \"pending\", \"queued\"", self.decisions);
        let revised = self.contracts[0].replace("\"queued\"", &word);
        let what =
            DecisionWhat::Amend { contract: digest::sha256_hex(revised.as_bytes()), extension: Some(extension()) };
        let event = Event { at: when, what: self.decision(r, what) };
        if let Some(made) = stepped(&revised, &self.record, &event) {
            self.take(made, &event, &revised);
            self.contracts.push(revised.clone());
            self.contract = revised;
        }
    }

    fn take(&mut self, made: Made, event: &Event, contract: &str) {
        if made.entry.is_some() {
            // Made anew rather than kept: the same twice is part of what is held.
            let again = step(contract, &self.record, event).unwrap();
            self.record = again.record;
            self.entries.extend(again.entry);
        }
    }

    fn go(&mut self, steps: usize) {
        for _ in 0..steps {
            let r = self.record();
            if matches!(r.phase, Phase::Settled { .. }) {
                break;
            }
            let when = self.time(&r);
            if matches!(r.phase, Phase::Escalated { .. }) && self.chance.one_in(2) {
                self.amend(&r, when);
                continue;
            }
            let event = Event { at: when, what: self.event(&r, when) };
            let contract = self.contract.clone();
            if let Some(made) = stepped(&contract, &self.record, &event) {
                self.take(made, &event, &contract);
            }
        }
    }

    fn verified(&self) {
        let log = Log {
            entries: self.entries.clone(),
            contracts: self.contracts.clone(),
            start: None,
            current: Some(self.record.clone()),
            component: "0".repeat(64),
        };
        let report = verify::verify(&log);
        let expected = match self.record().component_digest == log.component {
            true => Verdict::Verified,
            false => Verdict::VerifiedOtherBuild,
        };
        assert_eq!(report.verdict, expected, "{:?} {:?}", report.why, report.field);
        assert_eq!(report.checked, u64::try_from(self.entries.len()).unwrap());
    }
}

/// `SONDEO_SEED` and `SONDEO_WALKS` choose others.
#[test]
fn seeded_walks_keep_the_rules_and_verify() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, walks) = (number("SONDEO_SEED").unwrap_or(1), number("SONDEO_WALKS").unwrap_or(30));
    let mut endings: BTreeMap<String, u32> = BTreeMap::new();
    for seed in first..first + walks {
        println!("seed {seed}");
        let mut walk = Walk::new(seed);
        walk.go(80);
        walk.verified();
        assert!(walk.record.len() < limits::RECORD_PROPOSED_BYTES_MAX, "{} bytes", walk.record.len());
        let word = match walk.record().phase {
            Phase::Escalated { reason } => reason.to_string(),
            phase => step::phase_word(&phase).into(),
        };
        *endings.entry(word).or_default() += 1;
    }
    println!("{endings:?}");
}
