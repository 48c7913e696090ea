-- What a verb locks before it reads the tasks that it decides by. The order is everywhere the same: tasks from the
-- oldest to the newest (so a parent before its children, a dependency before what depends on it), then heads of
-- records, feeds and buckets, then counts by queue, then the log. A lock is a statement of its own, for the one that
-- follows sees what was committed while it waited.

-- name: task_named
-- The task, and its parent before it: an end of the one changes the other.
select t.serial from tasks t
where t.serial = any (array(select unnest(array[n.parent, n.serial]) from tasks n where n.task_id = :task_id))
order by t.serial for no key update;

-- name: task_numbered
-- The same, by serial.
select t.serial from tasks t
where t.serial = any (array(select unnest(array[n.parent, n.serial]) from tasks n where n.serial = :serial))
order by t.serial for no key update;

-- name: each_task_named
-- The same for several.
select t.serial from tasks t
where t.serial = any (array(
  select unnest(array[n.parent, n.serial]) from tasks n
  where n.task_id = any (array(select json_array_elements_text(cast(:task_ids as json))))))
order by t.serial for no key update;

-- name: tasks_named
-- Dependencies, before a new task counts those that have not ended.
select t.serial from tasks t
where t.task_id = any (array(select json_array_elements_text(cast(:task_ids as json))))
order by t.serial for no key update;

-- name: awaiting
-- Whatever waits for tasks that are about to end.
select t.serial from tasks t
where t.state = 2 and t.serial = any (array(
  select n.parent from tasks n
  where n.serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint))
  union all
  select d.dependent from task_deps d
  where d.dependency = any (array(select json_array_elements_text(cast(:serials as json))::bigint))))
order by t.serial for no key update;

-- name: unfinished_under
-- A whole family that is about to be cancelled.
select lock_family(:serial);
