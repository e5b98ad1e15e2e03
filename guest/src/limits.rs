//! Every bound of the core in one place, so that they can be read, and checked, against each other.

/// Bytes of a contract file's text.
pub const CONTRACT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a record's or an entry's text.
pub const RECORD_BYTES_MAX: usize = 128 * 1024;
/// Bytes of an answer's body that are read; the host stops reading there (D14).
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Depth of nested arrays and objects in any JSON text from outside (D14).
pub const JSON_DEPTH_MAX: usize = 64;
/// Elements of one array that a rule looks at (D14).
pub const ARRAY_ITEMS_MAX: usize = 1024;
/// Bytes of a text value that an observation keeps; a longer one is kept by length and digest.
pub const VALUE_BYTES_MAX: usize = 256;
/// Bytes of a header's value that is looked at.
pub const HEADER_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a URL.
pub const URL_BYTES_MAX: usize = 2048;
/// Bytes of a provider's error text, progress or request id that is kept (D35).
pub const PROVIDER_TEXT_BYTES_MAX: usize = 256;
/// Bytes of a name, id part, account, reason given by a person.
pub const NAME_BYTES_MAX: usize = 256;
/// Bytes of a person's free text (why, what was done).
pub const WHY_BYTES_MAX: usize = 1024;
/// Faults of a contract that are listed at once.
pub const FAULTS_MAX: usize = 100;
/// Rules, tests, map words, hints: entries of any list in a contract.
pub const LIST_MAX: usize = 512;
/// Last representable instant: 9999-12-31T23:59:59.999Z, in milliseconds since the epoch.
pub const INSTANT_MAX: u64 = 253_402_300_799_999;
/// Longest duration: one hundred years, in milliseconds.
pub const DURATION_MAX: u64 = 100 * 366 * 86_400_000;
/// Largest request, failure or throttle budget (D2: none is unlimited).
pub const BUDGET_MAX: u32 = 1_000_000;
/// Largest fencing number: integers stay exact in every language (2^53 - 1).
pub const FENCE_MAX: u64 = 9_007_199_254_740_991;
/// How often a wait follows a job to another id or address (D28).
pub const FOLLOWS_MAX: u32 = 3;
/// How often a push may bring a poll forward (D45).
pub const PUSHES_MAX: u32 = 3;
/// Decisions and open proposals that a record remembers.
pub const DECISIONS_MAX: usize = 64;
/// Warnings kept from the opening.
pub const WARNINGS_MAX: usize = 16;
/// Default of `max_hint` where the operation's span is shorter (D25): 24 h.
pub const MAX_HINT_DEFAULT_MS: u64 = 86_400_000;
/// Stages of a contract: the first and those that `follow` leads to.
pub const STAGES_MAX: usize = 4;

const _: () = assert!(VALUE_BYTES_MAX < RECORD_BYTES_MAX);
const _: () = assert!(BODY_BYTES_MAX < 16 * 1024 * 1024 / 4);
const _: () = assert!(INSTANT_MAX < FENCE_MAX);
/// Bytes of a record that an opening makes: the rest is for what happens to it.
pub const RECORD_OPENED_BYTES_MAX: usize = RECORD_BYTES_MAX / 8 * 3;
/// Bytes of a record that a proposal may bring it to; the rest is for decisions, answers and ends.
pub const RECORD_PROPOSED_BYTES_MAX: usize = RECORD_BYTES_MAX / 8 * 5;
/// Notes, and pieces of rejected guidance, that one entry holds.
pub const NOTES_MAX: usize = 16;
/// Bytes of one note.
pub const NOTE_BYTES_MAX: usize = 512;
/// Different notes since something last happened that are not repeated.
pub const NOTES_REMEMBERED: usize = 4;
/// Bytes of an entry's sentence (D49).
pub const SENTENCE_BYTES_MAX: usize = 2048;
/// Open proposals that a record holds (D39).
pub const PROPOSALS_MAX: usize = 8;
/// Bytes of an observation; of an answer with more the body is too large to be judged (D14).
pub const OBSERVATION_BYTES_MAX: usize = RECORD_BYTES_MAX / 2;
/// Bytes of a number's text that an observation keeps.
pub const NUMBER_BYTES_MAX: usize = 64;
/// Values that are kept of a header that stands more than once.
pub const REPEATED_MAX: usize = 4;
