-- name: queue_named
-- row: QueueRow
-- remembered until: define_queue, assign_queue
-- One queue's settings.
select * from queues where name = :name;

-- name: queue_numbered
-- row: QueueRow
-- remembered until: define_queue, assign_queue
-- One queue's settings, by the number that tasks carry.
select * from queues where queue = :queue;

-- name: all_queues
-- row: QueueRow
-- Every queue's settings.
select * from queues order by name;

-- name: queues_page
-- row: QueueRow
-- A page of the queues of a workspace, or of none where it is empty; null means all. By name.
select * from queues
where name > :after and (cast(:workspace_id as text) is null or coalesce(workspace_id, '') = :workspace_id)
order by name limit :limit;

-- name: next_queue
-- row: Scalar
-- The number that a new queue gets.
select coalesce(max(queue), 0) + 1 as value from queues;

-- name: define_queue
-- Make a queue or change its settings.
insert into queues (queue, name, heartbeat_seconds, miss_limit, lease_seconds, max_attempts, backoff_base_seconds,
                    backoff_cap_seconds, weight, paused)
values (:queue, :name, :heartbeat_seconds, :miss_limit, :lease_seconds, :max_attempts, :backoff_base_seconds,
        :backoff_cap_seconds, :weight, :paused)
on conflict (queue) do update set
  heartbeat_seconds = excluded.heartbeat_seconds, miss_limit = excluded.miss_limit,
  lease_seconds = excluded.lease_seconds, max_attempts = excluded.max_attempts,
  backoff_base_seconds = excluded.backoff_base_seconds, backoff_cap_seconds = excluded.backoff_cap_seconds,
  weight = excluded.weight, paused = excluded.paused;

-- name: start_counts
-- A new queue counts from zero.
insert into counts (queue) values (:queue);

-- name: change_counts
-- Add what one transaction changed.
update counts set ready = ready + :ready, leased = leased + :leased, waiting = waiting + :waiting,
  done = done + :done, dead = dead + :dead, cancelled = cancelled + :cancelled
where queue = :queue;

-- name: counts
-- row: CountsRow
-- Every queue's counts.
select q.name, c.ready, c.leased, c.waiting, c.done, c.dead, c.cancelled
from counts c join queues q on q.queue = c.queue order by q.name;

-- name: recount
-- row: CountsRow
-- The same, counted from the tasks themselves.
select q.name, count(*) filter (where t.state = 0) as ready, count(*) filter (where t.state = 1) as leased,
  count(*) filter (where t.state = 2) as waiting, count(*) filter (where t.state = 3) as done,
  count(*) filter (where t.state = 4) as dead, count(*) filter (where t.state = 5) as cancelled
from queues q left join tasks t on t.queue = q.queue group by q.name order by q.name;

-- name: health
-- row: HealthRow
-- Every queue's counts, since when its oldest claimable task could be claimed, and how many leases have expired
-- unsettled. A task became claimable when it last changed, or later, when its delay or backoff was over. None could be
-- claimed before it was made: so of a priority the first in line counts, and those that were made before that one could
-- be claimed, a thousand of them at most. A deep queue costs no more.
with recursive level (queue, priority) as (
  select queue, (select max(priority) from tasks t where t.queue = q.queue and t.state = 0 and t.due is null)
  from queues q
  union all
  select queue, (select max(priority) from tasks t
    where t.queue = l.queue and t.state = 0 and t.due is null and t.priority < l.priority)
  from level l where priority is not null
), first (queue, priority, since) as (
  select queue, priority, (select case when t.not_before > t.updated_at then t.not_before else t.updated_at end
    from tasks t where t.queue = l.queue and t.priority = l.priority and t.state = 0 and t.due is null
    order by t.created_at, t.task_id limit 1)
  from level l where priority is not null
), claimable (queue, since) as (
  select queue, since from first
  union all
  select queue, (select min(o.since) from (
    select case when t.not_before > t.updated_at then t.not_before else t.updated_at end as since
    from tasks t where t.queue = f.queue and t.priority = f.priority and t.state = 0 and t.due is null
      and t.created_at < f.since
    order by t.created_at, t.task_id limit 1000) o)
  from first f
  union all
  select t.queue, t.due from queues q cross join tasks t
    on t.queue = q.queue and t.due is not null and t.due <= :now and t.state = 0
)
select q.name, c.ready, c.leased, c.waiting, c.done, c.dead, c.cancelled,
  (select min(since) from claimable o where o.queue = q.queue) as oldest_ready_at,
  (select count(*) from leases l where l.queue = q.queue and l.expires_at <= :now) as expired_leases
from queues q join counts c on c.queue = q.queue order by q.name;

-- name: lane_of
-- row: Scalar
-- remembered until: add_lane
-- The lane of one kind and effect class in a queue.
select lane as value from lanes where queue = :queue and kind = :kind and effect = :effect;

-- name: lanes_matching
-- row: Text
-- remembered until: add_lane
-- The lanes a filtered claim may draw from, as a JSON array; a null filter matches all.
select json_group_array(lane) as value from lanes
where queue = :queue
  and (:kinds is null or kind in (select value from json_each(:kinds)))
  and (:effects is null or effect in (select value from json_each(:effects)));

-- name: add_lane
-- A kind and effect class seen in this queue for the first time.
insert into lanes (queue, kind, effect) values (:queue, :kind, :effect);
