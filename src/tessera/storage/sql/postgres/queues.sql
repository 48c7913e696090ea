-- name: define_queue
-- Make a queue or change its settings. Two that make one queue at once meet at its name, two that draw one number for
-- different queues at the number: the later one then runs again.
insert into queues (queue, name, heartbeat_seconds, miss_limit, lease_seconds, max_attempts, backoff_base_seconds,
                    backoff_cap_seconds, weight, paused)
values (:queue, :name, :heartbeat_seconds, :miss_limit, :lease_seconds, :max_attempts, :backoff_base_seconds,
        :backoff_cap_seconds, :weight, :paused)
on conflict (name) do update set
  heartbeat_seconds = excluded.heartbeat_seconds, miss_limit = excluded.miss_limit,
  lease_seconds = excluded.lease_seconds, max_attempts = excluded.max_attempts,
  backoff_base_seconds = excluded.backoff_base_seconds, backoff_cap_seconds = excluded.backoff_cap_seconds,
  weight = excluded.weight, paused = excluded.paused
where queues.queue = excluded.queue;

-- name: start_counts
-- A new queue counts from zero, in its first slot; the others come when they are needed.
insert into count_slots (queue, slot) values (:queue, 0);

-- name: change_counts
-- Add what one transaction changed, to a slot drawn by lot.
insert into count_slots (queue, slot, ready, leased, waiting, done, dead, cancelled)
values (:queue, floor(random() * 64)::integer, :ready, :leased, :waiting, :done, :dead, :cancelled)
on conflict (queue, slot) do update set
  ready = count_slots.ready + excluded.ready, leased = count_slots.leased + excluded.leased,
  waiting = count_slots.waiting + excluded.waiting, done = count_slots.done + excluded.done,
  dead = count_slots.dead + excluded.dead, cancelled = count_slots.cancelled + excluded.cancelled;

-- name: lanes_matching
-- row: Text
-- remembered until: add_lane
-- The lanes a filtered claim may draw from, as a JSON array; a null filter matches all.
select coalesce(json_agg(lane), '[]')::text as value from lanes
where queue = :queue
  and (cast(:kinds as text) is null or kind in (select json_array_elements_text(cast(:kinds as json))))
  and (cast(:effects as text) is null
       or effect in (select json_array_elements_text(cast(:effects as json))::bigint));
