-- name: pages_wrong
-- row: Text
-- What PostgreSQL itself has found wrong: pages that did not match their checksums since the counting began, indexes
-- that it does not use; one row `ok` when nothing is.
with found (value) as (
  select checksum_failures || ' pages of the database did not match their checksums'
  from pg_stat_database where datname = current_database() and checksum_failures > 0
  union all
  select 'the index ' || c.relname || ' is not valid: reindex it'
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = current_schema() and not i.indisvalid
)
select value from found union all select 'ok' where not exists (select 1 from found);

-- name: references_wrong
-- row: Wrong
-- Rows that name another one which is not there.
select r.thing, 'names a row of ' || r.parent || ' that is not there' as says
from (
  select 'tasks row ' || t.serial as thing, 'queues' as parent from tasks t
  where not exists (select 1 from queues q where q.queue = t.queue)
  union all
  select 'tasks row ' || t.serial, 'lanes' from tasks t where not exists (select 1 from lanes l where l.lane = t.lane)
  union all
  select 'tasks row ' || t.serial, 'tasks' from tasks t
  where t.parent is not null and not exists (select 1 from tasks p where p.serial = t.parent)
  union all
  select 'tasks row ' || t.serial, 'tasks' from tasks t
  where t.requeued_from is not null and not exists (select 1 from tasks d where d.serial = t.requeued_from)
  union all
  select 'count_slots row ' || c.queue, 'queues' from count_slots c
  where not exists (select 1 from queues q where q.queue = c.queue)
  union all
  select 'lanes row ' || l.lane, 'queues' from lanes l where not exists (select 1 from queues q where q.queue = l.queue)
  union all
  select 'leases row ' || h.serial, 'tasks' from leases h
  where not exists (select 1 from tasks t where t.serial = h.serial)
  union all
  select 'leases row ' || h.serial, 'queues' from leases h
  where not exists (select 1 from queues q where q.queue = h.queue)
  union all
  select 'briefs row ' || b.serial, 'tasks' from briefs b
  where not exists (select 1 from tasks t where t.serial = b.serial)
  union all
  select 'task_deps row ' || d.dependency || ' ' || d.dependent, 'tasks' from task_deps d
  where not exists (select 1 from tasks t where t.serial = d.dependency)
     or not exists (select 1 from tasks t where t.serial = d.dependent)
  union all
  select 'task_inputs row ' || i.serial || ' ' || i.park, 'tasks' from task_inputs i
  where not exists (select 1 from tasks t where t.serial = i.serial)
  union all
  select 'park_schemas row ' || s.serial || ' ' || s.park, 'tasks' from park_schemas s
  where not exists (select 1 from tasks t where t.serial = s.serial)
  union all
  select 'results row ' || r.result, 'tasks' from results r
  where not exists (select 1 from tasks t where t.serial = r.serial)
  union all
  select 'jobs row ' || j.job, 'tasks' from jobs j where not exists (select 1 from tasks t where t.serial = j.serial)
  union all
  select 'objects row ' || o.bucket || ' ' || o.key || ' ' || o.version, 'buckets' from objects o
  where not exists (select 1 from buckets b where b.bucket = o.bucket)
  union all
  select 'objects row ' || o.bucket || ' ' || o.key || ' ' || o.version, 'blobs' from objects o
  where not exists (select 1 from blobs b where b.sha256 = o.sha256)
  union all
  select 'object_heads row ' || h.bucket || ' ' || h.key, 'buckets' from object_heads h
  where not exists (select 1 from buckets b where b.bucket = h.bucket)
  union all
  select 'feed_items row ' || i.feed || ' ' || i.cursor, 'feeds' from feed_items i
  where not exists (select 1 from feeds f where f.feed = i.feed)
  union all
  select 'topic_messages row ' || m.topic || ' ' || m.sequence_number, 'topics' from topic_messages m
  where not exists (select 1 from topics t where t.topic = m.topic)
  union all
  select 'reflexes row ' || x.noun, 'nouns' from reflexes x
  where not exists (select 1 from nouns n where n.noun = x.noun)
  union all
  select 'tasks row ' || t.serial, 'requirements' from tasks t
  where t.requirement is not null and not exists (select 1 from requirements q where q.requirement = t.requirement)
  union all
  select 'queues row ' || q.queue, 'workspaces' from queues q
  where q.workspace_id is not null and not exists (select 1 from workspaces w where w.workspace_id = q.workspace_id)
  union all
  select 'roles row ' || o.workspace_id || ' ' || o.role_id, 'workspaces' from roles o
  where not exists (select 1 from workspaces w where w.workspace_id = o.workspace_id)
  union all
  select 'agents row ' || a.workspace_id || ' ' || a.agent_id, 'workspaces' from agents a
  where not exists (select 1 from workspaces w where w.workspace_id = a.workspace_id)
  union all
  select 'requirements row ' || q.requirement, 'queues' from requirements q
  where not exists (select 1 from queues u where u.queue = q.queue)
  union all
  select 'claims row ' || c.claim_id, 'tasks' from claims c
  where not exists (select 1 from tasks t where t.serial = c.serial)
  union all
  select 'claims row ' || c.claim_id, 'workspaces' from claims c
  where not exists (select 1 from workspaces w where w.workspace_id = c.workspace_id)
  union all
  select 'usage_events row ' || u.event_id, 'claims' from usage_events u
  where not exists (select 1 from claims c where c.claim_id = u.claim_id)
) r;

-- name: briefs_page
-- row: BriefToCheck
-- A page of tasks with their briefs, as bytes.
select t.serial, t.task_id, b.sha256, convert_to(b.brief, 'UTF8') as brief
from tasks t left join briefs b on b.serial = t.serial
where t.serial > :after order by t.serial limit :limit;

-- name: results_page
-- row: ResultToCheck
-- A page of results with their tasks' names; texts as bytes, as on every engine.
select r.result, r.serial, t.task_id, r.fencing_token, r.ok, convert_to(r.output, 'UTF8') as output,
  convert_to(r.error, 'UTF8') as error, r.sha256
from results r left join tasks t on t.serial = r.serial
where r.result > :after order by r.result limit :limit;

-- name: nouns_unindexed
-- row: Wrong
-- Nouns whose words the index does not have.
select 'noun ' || n.place || '/' || n.key as thing, 'has no words in the index' as says
from nouns n where not exists (select 1 from nouns_words w where w.noun = n.noun);
