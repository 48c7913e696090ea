-- name: attempts
-- row: AttemptRow
-- Every attempt at a wake, in order.
select message_id, n, endpoint_id, lease_id, phase, started_at, ended_at, outcome, reason
from attempts where message_id = :message_id order by n;

-- name: attempts_since
-- row: Count
-- How many attempts have ended in which way.
select outcome as name, count(*) as number from attempts where ended_at > :since group by outcome;

-- name: reasons_since
-- row: Count
-- How many attempts have failed for which reason.
select reason as name, count(*) as number from attempts
where ended_at > :since and reason is not null and outcome <> 'written' group by reason;

-- name: add_attempt
-- A lease begins.
insert into attempts (message_id, n, endpoint_id, lease_id, phase, started_at)
values (:message_id, :n, :endpoint_id, :lease_id, 'claimed', :now);

-- name: note_phase
-- How far a writer has come, stored before it goes further.
update attempts set phase = :phase where message_id = :message_id and lease_id = :lease_id;

-- name: end_attempt
-- A lease has ended.
update attempts set ended_at = :now, outcome = :outcome, reason = :reason
where message_id = :message_id and lease_id = :lease_id and ended_at is null;

-- name: end_attempt_late
-- A writer reported after its lease was lost: the attempt says so, nothing else changes.
update attempts set outcome = 'written_late' where message_id = :message_id and lease_id = :lease_id;
