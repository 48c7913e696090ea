-- name: jobs_page
-- row: JobRow
-- A page of jobs, oldest first; a null filter matches all, `queues` is a JSON array of numbers.
select j.*, t.task_id, t.queue from jobs j join tasks t on t.serial = j.serial
where j.job > :after and (cast(:serial as bigint) is null or j.serial = :serial)
  and (cast(:queues as text) is null
       or t.queue in (select json_array_elements_text(cast(:queues as json))::bigint))
order by j.job limit :limit;

-- name: jobs_running
-- row: RunningJobs
-- How many jobs each of some tasks (a JSON array of serials) has running.
select j.serial, count(*) as jobs from jobs j
where j.serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint))
  and j.status in ('queued', 'in_progress') group by j.serial order by j.serial;

-- name: stop_jobs
-- Ask the running jobs of some tasks (a JSON array of serials) to stop.
update jobs set status = 'cancel_requested', updated_at = :now
where serial = any (array(select json_array_elements_text(cast(:serials as json))::bigint))
  and status in ('queued', 'in_progress');
