-- name: job_named
-- row: JobRow
-- One job.
select j.*, t.task_id, t.queue from jobs j cross join tasks t on t.serial = j.serial where j.job_id = :job_id;

-- name: jobs_page
-- row: JobRow
-- A page of jobs, oldest first; a null filter matches all, `queues` is a JSON array of numbers.
select j.*, t.task_id, t.queue from jobs j cross join tasks t on t.serial = j.serial
where j.job > :after and (cast(:serial as bigint) is null or j.serial = :serial)
  and (:queues is null or t.queue in (select value from json_each(:queues)))
order by j.job limit :limit;

-- name: jobs_running
-- row: RunningJobs
-- How many jobs each of some tasks (a JSON array of serials) has running.
select j.serial, count(*) as jobs from json_each(:serials) s cross join jobs j on j.serial = s.value
where j.status in ('queued', 'in_progress') group by j.serial order by j.serial;

-- name: insert_job
-- A job that a lease's holder has started.
insert into jobs (job_id, serial, fencing_token, key_id, model, status, usage, cost_usd, created_at, updated_at)
values (:job_id, :serial, :fencing_token, :key_id, :model, :status, :usage, :cost_usd, :created_at, :updated_at);

-- name: update_job
-- What the model lane says of a job, if nobody has changed it since it was read.
update jobs set status = :status, usage = :usage, cost_usd = :cost_usd, updated_at = :now
where job_id = :job_id and status = :read_status;

-- name: stop_jobs
-- Ask the running jobs of some tasks (a JSON array of serials) to stop.
update jobs set status = 'cancel_requested', updated_at = :now
where serial in (select value from json_each(:serials)) and status in ('queued', 'in_progress');
