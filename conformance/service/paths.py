"""The paths of the service, as the specification lists them (§15)."""

from __future__ import annotations

WRITES = (
    "/v1/queues/define",
    "/v1/queues/pause",
    "/v1/queues/resume",
    "/v1/tasks",
    "/v1/tasks/batch",
    "/v1/tasks/claim",
    "/v1/tasks/claim-batch",
    "/v1/tasks/heartbeat",
    "/v1/tasks/submit",
    "/v1/tasks/submit-batch",
    "/v1/tasks/split",
    "/v1/tasks/park",
    "/v1/tasks/resume",
    "/v1/tasks/release",
    "/v1/tasks/cancel",
    "/v1/tasks/requeue",
    "/v1/jobs",
    "/v1/jobs/job-1",
    "/v1/stores/batch",
    "/v1/stores/store-1/records/key-1",
    "/v1/blobs",
    "/v1/buckets/define",
    "/v1/buckets/nouns/objects/key-1",
    "/v1/feeds/feed-1",
    "/v1/admin/reap",
    "/v1/admin/keys",
    "/v1/admin/keys/key-1/revoke",
)
LOOKS = (
    "/v1/queues",
    "/v1/tasks/task-1",
    "/v1/tasks/task-1/results",
    "/v1/counts",
    "/v1/events",
    "/v1/stores",
    "/v1/buckets",
    "/v1/feeds",
)
READ_TOO = {  # a POST writes there, a GET looks
    "/v1/tasks",
    "/v1/jobs",
    "/v1/admin/keys",
    "/v1/stores/store-1/records/key-1",
    "/v1/buckets/nouns/objects/key-1",
    "/v1/feeds/feed-1",
}
