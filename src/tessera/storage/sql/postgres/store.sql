-- name: set_meta
-- Keep a housekeeping value: a number, or words.
insert into meta (name, value, words)
select :name, case when g.given ~ '^-?[0-9]+$' then g.given::bigint end,
  case when g.given !~ '^-?[0-9]+$' then g.given end
from (select cast(:value as text) as given) g
on conflict (name) do update set value = excluded.value, words = excluded.words;
