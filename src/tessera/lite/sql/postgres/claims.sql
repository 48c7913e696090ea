-- name: heads_to_win
-- row: TaskRow
-- The first ready task of each of some requirements (a JSON array), then the first of those; without the tasks of a
-- list, and unless told to, without those that others are contending for.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null::bigint as claimed_at,
  null::bigint as expires_at, null::bigint as hard_expires_at
from json_array_elements_text(cast(:requirements as json)) j (value)
  join lateral (
    select r.serial from tasks r where r.requirement = j.value::bigint and r.state = 0 and r.due is null
      and r.serial not in (select json_array_elements_text(cast(:tried as json))::bigint)
      and (cast(:contested as bigint) = 1 or not exists (
        select 1 from claims c where c.serial = r.serial and c.fencing_token = r.fencing_token + 1 and c.state = 0))
    order by r.priority desc, r.created_at, r.task_id limit 1) h on true
  join tasks t on t.serial = h.serial join lanes l on l.lane = t.lane
order by t.priority desc, t.created_at, t.task_id limit 1;

-- name: head_to_win
-- row: TaskRow
-- The same for one requirement, as most agents have it in a queue.
select t.*, l.kind, l.effect, null as worker, null as key_id, null as claim_key, null::bigint as claimed_at,
  null::bigint as expires_at, null::bigint as hard_expires_at
from (
    select r.serial from tasks r where r.requirement = :requirement and r.state = 0 and r.due is null
      and r.serial not in (select json_array_elements_text(cast(:tried as json))::bigint)
      and (cast(:contested as bigint) = 1 or not exists (
        select 1 from claims c where c.serial = r.serial and c.fencing_token = r.fencing_token + 1 and c.state = 0))
    order by r.priority desc, r.created_at, r.task_id limit 1) h
  join tasks t on t.serial = h.serial join lanes l on l.lane = t.lane;

-- name: claims_known
-- row: Text
-- Those of some claim ids (a JSON array) that the store has.
select c.claim_id as value from json_array_elements_text(cast(:claim_ids as json)) j (value)
  join claims c on c.claim_id = j.value;
