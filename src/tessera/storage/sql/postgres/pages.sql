-- name: parked_for
-- row: ParkedRow
-- Parked tasks of some queues (a JSON array of numbers) that a key may answer, the longest parked first; null kinds or
-- effects match all. Of a reason there is the beginning.
select t.task_id, q.name as queue, l.kind, l.effect, t.parks, substr(t.park_reason, 1, 600) as reason,
  t.updated_at as parked_at, t.due
from tasks t join lanes l on l.lane = t.lane join queues q on q.queue = t.queue
where t.queue = any (array(select json_array_elements_text(cast(:queues as json))::bigint))
  and t.state = 2 and t.wait_reason = 2
  and (cast(:kinds as text) is null or l.kind in (select json_array_elements_text(cast(:kinds as json))))
  and (cast(:effects as text) is null
       or l.effect in (select json_array_elements_text(cast(:effects as json))::bigint))
  and (cast(:not_by as text) is null or t.parked_by is distinct from :not_by) and (t.due is null or t.due > :now)
order by t.updated_at, t.serial limit :limit;

-- name: dependencies_among
-- row: EdgeRow
-- Which of some tasks depend on which others of them: a JSON array of serials.
select d.dependency, d.dependent
from json_array_elements_text(cast(:serials as json)) j (value) join task_deps d on d.dependency = j.value::bigint
where d.dependent in (select json_array_elements_text(cast(:serials as json))::bigint);
