-- name: schema_of_store
-- row: Scalar
-- The version of the schema that a file has.
select max(version) as value from migrations;

-- name: late
-- row: Late
-- What is overdue in each queue, and since when: leases that have run out, delays and parks whose time has come.
select q.name as queue, sum(o.lease) as expired_leases, sum(1 - o.lease) as overdue_tasks, min(o.since) as since
from (
  select queue, 1 as lease, expires_at as since from leases where expires_at <= :now
  union all
  select queue, 0, due from tasks where due is not null and due <= :now
) o join queues q on q.queue = o.queue group by q.name order by q.name;
