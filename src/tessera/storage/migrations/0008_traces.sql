-- The trace that a task was enqueued in goes with it to its end.
alter table briefs add column traceparent text;
