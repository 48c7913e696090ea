-- name: each_record_head
-- row: RecordHeadRow
-- The same for several: a JSON array of pairs of store and key in, whatever exists out.
select h.store, h.key, h.version from json_array_elements(cast(:records as json)) j (value) join record_heads h
  on h.store = j.value ->> 0 and h.key = j.value ->> 1;
