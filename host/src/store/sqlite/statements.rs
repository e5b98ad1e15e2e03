//! Every statement of the SQLite dialect that touches an operation.

/// The columns of [`Derived`](crate::store::Derived), in the order in which [`rows`](super::rows) reads them.
macro_rules! columns {
    () => {
        "operation_id, namespace, contract_id, account, jobs, contract_digest, component_digest, \
         phase, reason, state, next_at, deadline_at, revision, authority_revision, fence, \
         lease_expires_at, requests_used, requests_max, failures_used, failures_max, \
         throttles_used, throttles_max, head, record_sha256, started_at, opened_by, outcome, \
         mark_kind, mark_at"
    };
}

/// What every step sets. Neither a used request nor a limit is among it.
macro_rules! step_sets {
    () => {
        "record = :record, record_sha256 = :record_sha256, head = :head, revision = :revision, \
         authority_revision = :authority_revision, phase = :phase, reason = :reason, \
         state = :state, next_at = :next_at, fence = :fence, \
         lease_expires_at = :lease_expires_at, outcome = :outcome"
    };
}

macro_rules! save {
    ($more:literal) => {
        concat!(
            "UPDATE operations SET ",
            step_sets!(),
            ", failures_used = :failures_used, throttles_used = :throttles_used, \
             component_digest = :component_digest, jobs = :jobs, mark_kind = NULL, mark_at = NULL",
            $more,
            " WHERE id = :id AND revision = :revision - 1 AND phase <> 'settled' \
             AND (:expect_fence IS NULL OR fence = :expect_fence) \
             AND (mark_kind IS NULL OR :clears_mark)"
        )
    };
}

/// A step that pays for nothing and decides nothing.
pub(super) const SAVE: &str = save!("");

/// A decision: alone in changing limits and contract.
pub(super) const SAVE_DECISION: &str = save!(
    ", requests_max = :requests_max, failures_max = :failures_max, \
     throttles_max = :throttles_max, deadline_at = :deadline_at, \
     contract_digest = :contract_digest"
);

/// INVARIANT (paid-first): the one statement that pays for a request. It tests fence, budgets, deadline, phase and mark by
/// the store's own columns and clock; nothing changed, nothing is sent.
pub(super) const CHARGE: &str = concat!(
    "UPDATE operations SET ",
    step_sets!(),
    ", requests_used = requests_used + 1 \
     WHERE id = :id AND revision = :revision - 1 AND fence < :fence \
     AND requests_used < requests_max AND requests_used + 1 = :attempt \
     AND failures_used < failures_max AND throttles_used < throttles_max \
     AND phase IN ('waiting', 'asking') AND mark_kind IS NULL \
     AND sondeo_now() < deadline_at AND sondeo_now() < :lease_expires_at"
);

pub(super) const INSERT: &str = "INSERT INTO operations (operation_id, namespace, contract_id, account, jobs, \
     contract_digest, component_digest, phase, reason, state, next_at, deadline_at, revision, \
     authority_revision, fence, lease_expires_at, requests_used, requests_max, failures_used, \
     failures_max, throttles_used, throttles_max, head, record_sha256, started_at, opened_by, \
     outcome, record) VALUES (:operation_id, :namespace, :contract_id, :account, :jobs, \
     :contract_digest, :component_digest, :phase, :reason, :state, :next_at, :deadline_at, \
     :revision, :authority_revision, :fence, :lease_expires_at, :requests_used, :requests_max, \
     :failures_used, :failures_max, :throttles_used, :throttles_max, :head, :record_sha256, \
     :started_at, :opened_by, :outcome, :record)";

/// A whole operation by its id.
pub(super) const LOAD: &str = concat!("SELECT ", columns!(), ", record, id FROM operations WHERE operation_id = ?1");

/// A whole operation by its row.
pub(super) const LOAD_ROW: &str = concat!("SELECT ", columns!(), ", record, id FROM operations WHERE id = ?1");

/// The start of a list; conditions and order follow.
pub(super) const LIST: &str = concat!("SELECT ", columns!(), ", id FROM operations WHERE 1");

pub(super) const DUE: &str = "SELECT operation_id, due_at, id FROM operations \
     WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at, id LIMIT ?2";

/// Behind a due instant and the row with an id.
pub(super) const DUE_AFTER: &str = "SELECT operation_id, due_at, id FROM operations \
     WHERE due_at IS NOT NULL AND due_at <= ?1 AND due_at >= ?3 \
     AND (due_at > ?3 OR id > coalesce((SELECT id FROM operations WHERE operation_id = ?4), 0)) \
     ORDER BY due_at, id LIMIT ?2";

pub(super) const DUE_ONE: &str = "SELECT coalesce(due_at <= ?2, 0) FROM operations WHERE operation_id = ?1";

pub(super) const NEXT_DUE: &str = "SELECT due_at FROM operations WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1";

pub(super) const COUNTS: &str = "SELECT namespace, phase, count(*) FROM operations GROUP BY phase, namespace";

pub(super) const PREFIX: &str = "SELECT operation_id FROM operations \
     WHERE operation_id >= ?1 AND substr(operation_id, 1, length(?1)) = ?1 \
     ORDER BY operation_id LIMIT ?2";

pub(super) const MARK: &str = "UPDATE operations SET mark_kind = :kind, mark_at = :at \
     WHERE operation_id = :operation_id AND (:revision IS NULL OR revision = :revision) \
     AND mark_kind IS NULL";

pub(super) const ENTRY: &str = "INSERT INTO entries (operation, seq, sha256, text) VALUES (?1, ?2, ?3, ?4)";

/// The digest of one entry.
pub(super) const ENTRY_DIGEST: &str = "SELECT sha256 FROM entries WHERE operation = ?1 AND seq = ?2";

pub(super) const ENTRIES: &str = "SELECT e.seq, e.sha256, e.text FROM entries e \
     JOIN operations o ON o.id = e.operation \
     WHERE o.operation_id = ?1 AND e.seq >= ?2 ORDER BY e.seq LIMIT ?3";

/// Takes an id, unless a live row holds it.
pub(super) const JOB_TAKE: &str = "INSERT INTO jobs (operation, position, namespace, contract_id, account, job, live) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";

pub(super) const JOB_HOLDER: &str = "SELECT o.operation_id FROM jobs j JOIN operations o ON o.id = j.operation \
     WHERE j.namespace = ?1 AND j.contract_id = ?2 AND j.account = ?3 AND j.job = ?4 AND j.live = 1";

/// The row that holds an id, else one that still waits for it, else the last that had it.
pub(super) const JOB_FIND: &str = "SELECT j.operation FROM jobs j JOIN operations o ON o.id = j.operation \
     WHERE j.namespace = ?1 AND j.contract_id = ?2 AND j.account = ?3 AND j.job = ?4 \
     ORDER BY j.live DESC, o.phase <> 'settled' DESC, j.operation DESC LIMIT 1";

pub(super) const JOB_RELEASE: &str = "UPDATE jobs SET live = 0 WHERE operation = ?1 AND live = 1";

/// Hands a released id to the first operation that waits for it too (D4).
pub(super) const JOB_HAND_ON: &str = "UPDATE jobs SET live = 1 WHERE (operation, position) = \
     (SELECT j.operation, j.position FROM jobs j JOIN operations o ON o.id = j.operation \
      WHERE j.namespace = ?1 AND j.contract_id = ?2 AND j.account = ?3 AND j.job = ?4 \
      AND o.phase <> 'settled' ORDER BY j.operation, j.position LIMIT 1)";

pub(super) const KEEP: &str = "INSERT INTO kept (operation, role, sha256, sealed, value) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";

pub(super) const KEPT: &str = "SELECT k.sha256, k.role, k.sealed, k.value FROM kept k \
     JOIN operations o ON o.id = k.operation \
     WHERE o.operation_id = ?1 ORDER BY k.role, k.sha256";

/// Every value that is kept in clear.
pub(super) const KEPT_CLEAR: &str = "SELECT o.operation_id, k.role, k.sha256, k.value FROM kept k \
     JOIN operations o ON o.id = k.operation WHERE k.sealed = 0 ORDER BY k.operation, k.role";

pub(super) const DROP: &str = "DELETE FROM kept WHERE operation = ?1 AND role = ?2";

pub(super) const ROW_ID: &str = "SELECT id FROM operations WHERE operation_id = ?1";

pub(super) const PUT_CONTRACT: &str = "INSERT INTO contracts (digest, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

pub(super) const CONTRACT: &str = "SELECT text FROM contracts WHERE digest = ?1";

pub(super) const CONTRACT_DIGESTS: &str = "SELECT digest FROM contracts ORDER BY digest";

pub(super) const COMPONENT_DIGESTS: &str = "SELECT digest FROM components ORDER BY digest";

pub(super) const PUT_COMPONENT: &str = "INSERT INTO components (digest, core_digest, version, bytes) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";

pub(super) const COMPONENT: &str = "SELECT digest, core_digest, version, bytes FROM components WHERE digest = ?1";

/// Operations whose jobs don't stand in the table of jobs as they stand in the row.
pub(super) const JOBS_ASTRAY: &str = "SELECT operation_id FROM operations o WHERE \
     (SELECT json_group_array(job ORDER BY position) FROM jobs WHERE operation = o.id) \
       IS NOT CASE WHEN json_valid(o.jobs) THEN json(o.jobs) END \
     OR EXISTS (SELECT 1 FROM jobs WHERE operation = o.id \
       AND (namespace, contract_id, account) IS NOT (o.namespace, o.contract_id, o.account)) \
     OR (o.phase <> 'settled' AND EXISTS (SELECT 1 FROM jobs WHERE operation = o.id AND position = 0 AND live = 0)) \
     OR (o.phase = 'settled' AND EXISTS (SELECT 1 FROM jobs WHERE operation = o.id AND live = 1))";
