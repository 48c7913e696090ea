-- name: topic_head
-- All topics: a consensus time is given once, whatever the topic.
select pg_advisory_xact_lock(1413829459, 4);
