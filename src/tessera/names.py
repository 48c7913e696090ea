"""The words of the product: patterns of identifiers, effect classes, scopes, event types.

What the database stores is the position in `EFFECT_CLASSES` and `EVENT_TYPES`: append, never reorder.
"""

from typing import Final

VERSION: Final = "0.2.0"
HOW_TO_GET_HEDERA: Final = "pip install 'tessera-swarm[hedera]', in a clone pip install '.[hedera]'"
HOW_TO_GET_MCP: Final = "pip install 'tessera-swarm[mcp]', in a clone pip install '.[mcp]'"
HOW_TO_GET_OTEL: Final = "pip install 'tessera-swarm[otel]', in a clone pip install '.[otel]'"
HOW_TO_GET_POSTGRES: Final = "pip install 'tessera-swarm[postgres]', in a clone pip install '.[postgres]'"

# `$` alone lets a trailing newline through in Python; the look-ahead closes that, in JavaScript too.
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9_.-]{0,63}$(?!\n)"
NAME_OR_ALL_PATTERN: Final = r"^(?:\*|[a-z0-9][a-z0-9_.-]{0,63})$(?!\n)"
PATH_WORDS: Final = (
    "batch|cancel|claim|claim-batch|heartbeat|park|release|requeue|resume|split|submit|submit-batch"
)
TASK_ID_PATTERN: Final = rf"^(?!(?:{PATH_WORDS})$)[A-Za-z0-9][A-Za-z0-9_.:-]{{0,127}}$(?!\n)"
KEY_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$(?!\n)"
SHA256_PATTERN: Final = r"^[0-9a-f]{64}$(?!\n)"
MEDIA_TYPE_PATTERN: Final = r"^[A-Za-z0-9][\x21\x23-\x2e\x30-\x39\x41-\x7e]{0,99}/[\x20-\x7e]{1,150}$(?!\n)"
IDEMPOTENCY_KEY_PATTERN: Final = r"^[\x21-\x7e]{1,255}$(?!\n)"
ENTITY_PATTERN: Final = r"^(?:0|[1-9][0-9]{0,17})(?:\.(?:0|[1-9][0-9]{0,17})){2}$(?!\n)"
WORKSPACE_PATTERN: Final = r"^ws_[A-Za-z0-9][A-Za-z0-9_-]{0,63}$(?!\n)"
AGENT_PATTERN: Final = r"^agt_[A-Za-z0-9][A-Za-z0-9_-]{0,63}$(?!\n)"
ROLE_PATTERN: Final = r"^role_[A-Za-z0-9][A-Za-z0-9_-]{0,63}$(?!\n)"
TRACEPARENT_PATTERN: Final = r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$(?!\n)"
ORIGIN_PATTERN: Final = (
    r"^https?://(?:[a-z0-9.\-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$(?!\n)"  # as a browser sends it
)
HOST_PATTERN: Final = r"^[a-z0-9.\-]+$(?!\n)"

# What a person is told who did not keep to a pattern.
FORMS: Final = {
    NAME_PATTERN: "a name: a small letter or digit, then up to 63 of those or . _ -",
    NAME_OR_ALL_PATTERN: "a name (small letters, digits and . _ -, at most 64), or * for all",
    TASK_ID_PATTERN: "a task id: a letter or digit, then up to 127 of those or . _ : -; no word of a path",
    KEY_PATTERN: "a key: a letter or digit, then up to 255 of those or . _ : -",
    SHA256_PATTERN: "a SHA-256: 64 hex digits in small letters",
    MEDIA_TYPE_PATTERN: "a media type such as text/plain",
    IDEMPOTENCY_KEY_PATTERN: "an idempotency key: 1 to 255 visible ASCII characters",
    WORKSPACE_PATTERN: "a workspace id: ws_, then a letter or digit and up to 63 of those or _ -",
    AGENT_PATTERN: "an agent id: agt_, then a letter or digit and up to 63 of those or _ -",
    ROLE_PATTERN: "a role id: role_, then a letter or digit and up to 63 of those or _ -",
    TRACEPARENT_PATTERN: "a W3C traceparent",
    ORIGIN_PATTERN: "an origin such as https://board.example or http://localhost:3000: scheme, host in small "
    "letters, perhaps a port, and nothing behind; * is none, name each",
    HOST_PATTERN: "a host's name or address without a port, in small letters, such as tessera.example",
    ENTITY_PATTERN: "a topic's or account's id: three numbers with dots, such as 0.0.1002",
}

ALL: Final = "*"  # in a grant: every queue, every kind

EFFECT_CLASSES: Final = ("read", "write-internal", "write-repo", "public")
EFFECT_RANK: Final = {name: rank for rank, name in enumerate(EFFECT_CLASSES)}
ADMIN_EFFECTS: Final = frozenset({EFFECT_RANK["write-repo"], EFFECT_RANK["public"]})

SCOPES: Final = ("admin", "store", "agent:runtime")
LITE: Final = "lite"  # the kind of every task in a workspace
RUNTIME: Final = "agent:runtime"  # the scope of the keys by which a workspace's agents claim

TOMBSTONES: Final = "negative.knowledge"  # the store that dead letters leave their record in
REFLEXES: Final = "tessera.reflexes"  # the one store of ours that users write
OUR_STORES: Final = "tessera."  # stores whose names begin so are ours

EVENT_TYPES: Final = (
    "queue_defined", "enqueued", "claimed", "heartbeat", "submitted", "retry_scheduled",
    "dead_lettered", "lease_lapsed", "split", "parent_ready", "dependencies_met", "parked",
    "resumed", "park_expired", "cancelled", "jobs_cancel_requested", "job_registered",
    "job_updated", "records_written", "blob_stored", "bucket_defined", "object_stored",
    "feed_published", "key_issued", "key_revoked", "released", "requeued", "queue_paused",
    "queue_resumed", "approval_issued", "store_restored", "workspace_defined", "role_defined",
    "agent_defined", "queue_assigned", "contest_voided",
)  # fmt: skip
EVENT_NUMBER: Final = {name: number for number, name in enumerate(EVENT_TYPES)}
ENDING_EVENTS: Final = frozenset({"submitted", "dead_lettered", "cancelled"})  # those that may end a task
