-- name: heads_to_win
-- row: TaskRow
-- The first ready task of each of some requirements (a JSON array), then the first of those; without the tasks of a
-- list, and unless told to, without those that others are contending for.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null as claimed_at,
  null as expires_at, null as hard_expires_at
from json_each(:requirements) j
  cross join tasks t on t.serial in (
    select serial from tasks r where r.requirement = j.value and r.state = 0 and r.due is null
      and r.serial not in (select value from json_each(:tried))
      and (:contested = 1 or not exists (
        select 1 from claims c where c.serial = r.serial and c.fencing_token = r.fencing_token + 1 and c.state = 0))
    order by r.priority desc, r.created_at, r.task_id limit 1)
  cross join lanes l on l.lane = t.lane
order by t.priority desc, t.created_at, t.task_id limit 1;

-- name: head_to_win
-- row: TaskRow
-- The same for one requirement, as most agents have it in a queue.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null as claimed_at,
  null as expires_at, null as hard_expires_at
from tasks t cross join lanes l on l.lane = t.lane
where t.requirement = :requirement and t.state = 0 and t.due is null
  and t.serial not in (select value from json_each(:tried))
  and (:contested = 1 or not exists (
    select 1 from claims c where c.serial = t.serial and c.fencing_token = t.fencing_token + 1 and c.state = 0))
order by t.priority desc, t.created_at, t.task_id limit 1;

-- name: claim_named
-- row: ClaimRow
-- One claim.
select * from claims where claim_id = :claim_id;

-- name: contest_starts_after
-- row: Scalar
-- A number that a topic had reached before the first message of a contest could be sent: where the first of its
-- claims saw it end, else where it is known to end.
select coalesce(
  (select min(after_sequence) from claims where serial = :serial and fencing_token = :fencing_token),
  (select max(sequence_number) from claims where topic_id = :topic_id and sequence_number is not null), 0) as value;

-- name: reserve_claim
-- A claim whose message is about to be sent.
insert into claims (claim_id, workspace_id, serial, fencing_token, role_id, agent_id, key_id, target, lease_seconds,
                    idempotency_sha256, state, reserved_at, message, topic_id, after_sequence)
values (:claim_id, :workspace_id, :serial, :fencing_token, :role_id, :agent_id, :key_id, :target, :lease_seconds,
        :idempotency_sha256, 0, :reserved_at, :message, :topic_id, :after_sequence);

-- name: settle_claim
-- What has become of a claim, with its place in the log if it has one. It was reserved until now.
update claims set state = :state, settled_at = :settled_at, event_id = :event_id, sequence_number = :sequence_number,
  consensus_timestamp = :consensus_timestamp, running_hash = :running_hash, transaction_id = :transaction_id,
  proof_status = :proof_status
where claim_id = :claim_id and state = 0;

-- name: add_usage_event
-- A claim has written to the log.
insert into usage_events (event_id, workspace_id, claim_id, agent_id, type, at)
values (:event_id, :workspace_id, :claim_id, :agent_id, :type, :at);

-- name: claims_left_behind
-- row: ClaimRow
-- Claims that were reserved at or before an instant and not settled since, oldest first.
select * from claims where state = 0 and reserved_at <= :before order by reserved_at, claim_id limit :limit;

-- name: claims_page
-- row: ClaimShown
-- A page of claims, oldest first; a null filter matches all.
select c.*, t.task_id, q.name as queue_id
from claims c cross join tasks t on t.serial = c.serial cross join queues q on q.queue = t.queue
where c.claim_id > :after and (cast(:workspace_id as text) is null or c.workspace_id = :workspace_id)
  and (cast(:topic_id as text) is null or c.topic_id = :topic_id)
  and (cast(:state as bigint) is null or c.state = :state)
order by c.claim_id limit :limit;

-- name: request_keyed
-- row: RequestRow
-- What a claim-next was answered under its key.
select * from claim_requests
where workspace_id = :workspace_id and agent_id = :agent_id and target = :target
  and idempotency_sha256 = :idempotency_sha256;

-- name: save_request
-- What a claim-next is answered under its key, or that it is under way.
insert into claim_requests (workspace_id, agent_id, target, idempotency_sha256, body_sha256, claim_id, answer, until)
values (:workspace_id, :agent_id, :target, :idempotency_sha256, :body_sha256, :claim_id, :answer, :until)
on conflict (workspace_id, agent_id, target, idempotency_sha256) do update set
  body_sha256 = excluded.body_sha256, claim_id = excluded.claim_id, answer = excluded.answer, until = excluded.until;

-- name: forget_requests
-- Answers that nobody is promised any more, a bounded number; those of claims that are under way stay.
delete from claim_requests where (workspace_id, agent_id, target, idempotency_sha256) in (
  select workspace_id, agent_id, target, idempotency_sha256 from claim_requests r
  where r.until <= :now and not exists (select 1 from claims c where c.claim_id = r.claim_id and c.state = 0)
  order by r.until limit :limit);

-- name: request_to_forget
-- row: Scalar
-- Whether there is such an answer.
select r.until as value from claim_requests r
where r.until <= :now and not exists (select 1 from claims c where c.claim_id = r.claim_id and c.state = 0)
order by r.until limit 1;
