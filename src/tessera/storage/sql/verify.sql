-- name: pages_wrong
-- row: Text
-- What SQLite itself finds wrong with the file's pages, tables and indexes; one row `ok` when nothing is. FTS5 checks an
-- index as its connection remembers it, which others have changed since; a look at each makes it read that anew.
with looked (found) as (
  select (select count(*) from nouns_words where rowid = 0) + (select count(*) from reflexes_words where rowid = 0)
    + (select count(*) from reflexes_parts where rowid = 0)
)
select integrity_check as value from looked cross join pragma_integrity_check where found = 0;

-- name: references_wrong
-- row: Wrong
-- Rows that name another one which is not there.
select "table" || ' row ' || coalesce(rowid, '?') as thing, 'names a row of ' || parent || ' that is not there' as says
from pragma_foreign_key_check;

-- name: briefs_page
-- row: BriefToCheck
-- A page of tasks with their briefs, as bytes.
select t.serial, t.task_id, b.sha256, cast(b.brief as blob) as brief
from tasks t left join briefs b on b.serial = t.serial
where t.serial > :after order by t.serial limit :limit;

-- name: results_page
-- row: ResultToCheck
-- A page of results with their tasks' names; texts as bytes, for damaged ones may be no text.
select r.result, r.serial, t.task_id, r.fencing_token, r.ok, cast(r.output as blob) as output,
  cast(r.error as blob) as error, r.sha256
from results r left join tasks t on t.serial = r.serial
where r.result > :after order by r.result limit :limit;

-- name: results_twice
-- row: Wrong
-- Leases that handed in more than once.
select 'task ' || t.task_id as thing, 'has ' || r.results || ' results under token ' || r.fencing_token as says
from (select serial, fencing_token, count(*) as results from results group by serial, fencing_token
      having count(*) > 1) r join tasks t on t.serial = r.serial;

-- name: leases_wrong
-- row: Wrong
-- Leased tasks without their one lease, and leases of tasks that are not leased.
select 'task ' || t.task_id as thing, case when l.serial is null then 'is leased, but has no lease'
  when l.fencing_token <> t.fencing_token
  then 'has token ' || t.fencing_token || ', its lease has ' || l.fencing_token
  else 'is in another queue than its lease' end as says
from tasks t left join leases l on l.serial = t.serial
where t.state = 1 and (l.serial is null or l.fencing_token <> t.fencing_token or l.queue <> t.queue)
union all
select 'lease of ' || coalesce('task ' || t.task_id, 'serial ' || l.serial),
  case when t.serial is null then 'belongs to no task' else 'belongs to a task that is not leased' end
from leases l left join tasks t on t.serial = l.serial where t.serial is null or t.state <> 1;

-- name: waits_wrong
-- row: Wrong
-- Unfinished tasks whose numbers of children and dependencies are not those of the tasks themselves.
select 'task ' || task_id as thing, 'keeps ' || kept || ' open children and dependencies, counted ' || counted as says
from (
  select t.task_id, t.pending_children || ' and ' || t.pending_deps as kept,
    (select count(*) from tasks c where c.parent = t.serial and c.state < 3) || ' and ' ||
    (select count(*) from task_deps d cross join tasks o on o.serial = d.dependency
     where d.dependent = t.serial and o.state < 3) as counted
  from tasks t where t.state < 3
) w where kept <> counted;

-- name: relatives_wrong
-- row: Wrong
-- Tasks that keep other numbers of relatives than there are, or are not one generation below their parent. What waits
-- for a task is looked for only if the task keeps that something does.
select 'task ' || task_id as thing,
  'keeps ' || kept || ' (children, dependencies, dependents, depth), counted ' || counted as says
from (
  select t.task_id, t.children || ', ' || t.dependencies || ', ' || t.dependents || ', ' || t.depth as kept,
    (select count(*) from tasks c where c.parent = t.serial) || ', ' ||
    (select count(*) from task_deps d where d.dependent = t.serial) || ', ' ||
    (select count(*) from task_deps d where d.dependency = t.serial) || ', ' ||
    coalesce((select p.depth + 1 from tasks p where p.serial = t.parent), 0) as counted
  from tasks t
) r where kept <> counted;

-- name: waiting_wrong
-- row: Wrong
-- Tasks whose state and reason to wait do not belong together, or that time would move though it may not, and inputs
-- that are not those of their parks.
select 'task ' || t.task_id as thing,
  case when (t.state = 2) <> (t.wait_reason is not null) then 'waits without a reason, or has one and does not wait'
  when t.wait_reason = 0 and t.pending_children = 0 then 'waits for children, but none is open'
  when t.wait_reason = 1 and t.pending_deps = 0 then 'waits for dependencies, but none is open'
  when t.due is not null and t.state <> 0 and coalesce(t.wait_reason, -1) <> 2
  then 'falls due, but neither starts later nor is parked'
  else 'was parked ' || t.parks || ' times, which its inputs do not answer' end as says
from tasks t
where (t.state = 2) <> (t.wait_reason is not null)
   or (t.wait_reason = 0 and t.pending_children = 0)
   or (t.wait_reason = 1 and t.pending_deps = 0)
   or (t.due is not null and t.state <> 0 and coalesce(t.wait_reason, -1) <> 2)
   or (t.state < 3 and (select count(*) from task_inputs i where i.serial = t.serial)
       <> t.parks - (case when t.state = 2 and t.wait_reason = 2 then 1 else 0 end))
   or (t.parks > 0 and exists (select 1 from task_inputs i where i.serial = t.serial and i.park > t.parks));

-- name: events_to_check
-- row: EventToCheck
-- A page of the log with the numbers of the tasks it names.
select e.seq, e.at, e.type, e.task_id, t.serial, e.fencing_token
from events e left join tasks t on t.task_id = e.task_id
where e.seq > :after order by e.seq limit :limit;

-- name: tasks_to_check
-- row: TaskToCheck
-- A page of tasks, as far as the log tells of them.
select serial, task_id, state, attempts, failures, parks, fencing_token from tasks
where serial > :after order by serial limit :limit;

-- name: record_chains_wrong
-- row: Wrong
-- Records whose versions are not 1, 2, 3 and so on, or whose head is not the last.
select 'record ' || v.store || '/' || v.key as thing,
  case when v.first <> 1 or v.last <> v.versions
  then 'has ' || v.versions || ' versions from ' || v.first || ' to ' || v.last
  when h.version is null then 'has no head'
  else 'has its head at version ' || h.version || ', its last is ' || v.last end as says
from (select store, key, count(*) as versions, min(version) as first, max(version) as last
      from records group by store, key) v
  left join record_heads h on h.store = v.store and h.key = v.key
where v.first <> 1 or v.last <> v.versions or h.version is null or h.version <> v.last
union all
select 'record ' || h.store || '/' || h.key, 'has a head and no versions' from record_heads h
where not exists (select 1 from records r where r.store = h.store and r.key = h.key);

-- name: tombstones_wrong
-- row: Wrong
-- Dead tasks without their tombstone, and tombstones of tasks that are not dead.
select 'task ' || t.task_id as thing, 'is dead and has no tombstone' as says
from tasks t where t.state = 4 and not exists (
  select 1 from record_heads h where h.store = :tombstones and h.key = t.task_id)
union all
select 'tombstone ' || h.key, 'is of no task that is dead' from record_heads h
where h.store = :tombstones and not exists (select 1 from tasks t where t.task_id = h.key and t.state = 4);

-- name: documents_wrong
-- row: Wrong
-- What must be JSON and is not.
select 'record ' || store || '/' || key || ' version ' || version as thing, 'is not JSON' as says
from records where not json_valid(value)
union all
select 'event ' || seq, 'has data that is not JSON' from events where data is not null and not json_valid(data)
union all
select 'input ' || i.park || ' of task ' || coalesce(t.task_id, cast(i.serial as text)), 'is not JSON'
from task_inputs i left join tasks t on t.serial = i.serial where not json_valid(i.input)
union all
select 'key ' || key_id, 'has a grant that is not JSON' from keys where not json_valid(grant_json)
union all
select 'job ' || job_id, 'has a usage that is not JSON' from jobs where not json_valid(usage);

-- name: sizes_to_check
-- row: Sizes
-- How many rows there are to look at, for whoever watches.
select (select count(*) from tasks) as tasks, (select count(*) from results) as results,
  (select count(*) from leases) as leases, (select count(*) from record_heads) as records,
  (select count(*) from queues) as queues,
  (select count(*) from events) as events;
