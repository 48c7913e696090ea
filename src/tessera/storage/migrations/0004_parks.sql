-- Whoever answers parks finds the parked tasks of a queue without walking all others, the longest parked first.
create index tasks_parked on tasks (queue, updated_at) where state = 2 and wait_reason = 2;
