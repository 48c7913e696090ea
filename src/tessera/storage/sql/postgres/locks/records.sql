-- name: record_head
-- The head that the next version moves.
select h.version from record_heads h where h.store = :store and h.key = :key for no key update;

-- name: each_record_head
-- The same for several, in the order of their names.
select h.version from json_array_elements(cast(:records as json)) j (value)
  join record_heads h on h.store = j.value ->> 0 and h.key = j.value ->> 1
order by h.store, h.key for no key update of h;

-- name: feed_named
-- The feed that the next item moves.
select f.head from feeds f where f.name = :name for no key update;
