"""Every bound of the product, named with its unit last. (Specification §9, contract §2 to §4.)"""

from typing import Final

SECOND_US: Final = 1_000_000
DAY_SECONDS: Final = 86_400
NEVER_US: Final = 2**62

BRIEF_BYTES_MAX: Final = 1 << 20
OUTPUT_BYTES_MAX: Final = 1 << 20
INPUT_BYTES_MAX: Final = 1 << 20
ERROR_BYTES_MAX: Final = 8 << 10
REASON_BYTES_MAX: Final = 8 << 10
INPUT_SCHEMA_BYTES_MAX: Final = 8 << 10
RECORD_BYTES_MAX: Final = 1 << 20  # of a record's value
PAYLOAD_BYTES_MAX: Final = 1 << 20  # of a feed's item
LEASE_OUTPUTS_BYTES_MAX: Final = 4 << 20
BLOB_BYTES_MAX: Final = 16 << 20
CHUNK_BYTES_MAX: Final = 1 << 20  # of a blob's stored pieces
DESCRIPTION_BYTES_MAX: Final = 8 << 10
DETAIL_CHARS_MAX: Final = 300  # of a problem's text that quotes a parser

WORKER_CHARS_MAX: Final = 200
LABEL_CHARS_MAX: Final = 200  # a key's label

NAMES_PER_GRANT_MAX: Final = 1_000  # queues or kinds
KINDS_PER_CLAIM_MAX: Final = 1_000
QUEUES_PER_CLAIM_MAX: Final = 100
CLAIMS_PER_BATCH_MAX: Final = 100
SUBMITS_PER_BATCH_MAX: Final = 100
TASKS_PER_BATCH_MAX: Final = 1_000
WRITES_PER_BATCH_MAX: Final = 100
MODEL_CHARS_MAX: Final = 200  # a model's name
USAGE_BYTES_MAX: Final = 64 << 10  # what a model job says it used

CHILDREN_PER_SPLIT_MAX: Final = 100
DEPENDENCIES_PER_TASK_MAX: Final = 100
NESTING_LEVELS_MAX: Final = 4
DESCENDANTS_UNFINISHED_MAX: Final = 10_000
PRIORITY_MAX: Final = 1_000
WEIGHT_MAX: Final = 1_000

PARK_SECONDS_MAX: Final = 30 * DAY_SECONDS
DELAY_SECONDS_MAX: Final = 30 * DAY_SECONDS
BACKOFF_SECONDS_MAX: Final = 30 * DAY_SECONDS
KEY_DAYS_MAX: Final = 14
APPROVAL_SECONDS: Final = 3_600
RETRY_AFTER_SECONDS_MAX: Final = 30

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1_000
PAGE_BRIEFS_BYTES_MAX: Final = 4 << 20
PAGE_BYTES_MAX: Final = 4 << 20  # of the documents on a page of records or of a feed
EVENTS_PAGE_MAX: Final = 10_000
FEED_PAGE_MAX: Final = 10_000
WAIT_SECONDS_MAX: Final = 30  # of a request that waits for something to come
TOOL_WAIT_SECONDS_MAX: Final = 25  # of a tool's call: clients of MCP often give up after 30

DUE_PER_SETTLE_MAX: Final = 100
SETTLES_PER_TURN_MAX: Final = 10  # about 10 ms; then others come first
UPLOAD_SECONDS: Final = 3_600  # how long staged chunks wait for the next one, or for their publication
CHUNKS_PER_SWEEP_MAX: Final = 4  # a few milliseconds
LOST_RACES_MAX: Final = 5  # re-runs of a verb whose rows changed under it
CLAIMS_PER_TURN_MAX: Final = 32  # of the loop, so that other requests are read in between
BATCH_VERBS_MAX: Final = 512  # of one transaction on the event loop
CHECKPOINT_PAGES: Final = 12_000  # of the write-ahead log: three large blobs; then it is copied
CHECKPOINT_BYTES: Final = 4 << 20  # the same for the service's thread, which looks so often:
CHECKPOINT_SECONDS: Final = 0.25
WAL_BYTES_LARGE: Final = 64 << 20  # from here on the log is cut short, though writers wait for it
BUSY_SECONDS_MAX: Final = 5  # how long a writer waits for another process's transaction
REMEMBERED_ROWS_MAX: Final = 10_000
WRITER_CACHE_KIB: Final = 64 << 10  # pages of the store that its connection keeps at hand
READER_CACHE_KIB: Final = 4 << 10  # less: what a look meets once, such as a blob, is not met again
READERS_MAX: Final = 4  # connections that read beside the writer
LOOK_SECONDS_MAX: Final = 30  # how long closing a store waits for a look

FINDINGS_PER_CHECK_MAX: Final = 20  # of what a check found wrong, how much is told
VERIFY_ROWS_PAGE: Final = 5_000  # of rows without documents
VERIFY_BYTES_PAGE: Final = 32  # of rows with a document of up to 1 MiB
BACKUP_PAGES_PER_STEP: Final = 1_024  # of 4 KiB, between two words on how far a copy is
DISK_BYTES_SPARE: Final = 256 << 20  # below this a store should be given room
CLOCK_BEHIND_SECONDS: Final = 5  # of the wall clock behind a store's last instant: worth a word
REAP_SECONDS_MAX: Final = 60  # the reaper runs at least so often (specification §5.3)
JSON_BODY_BYTES_MAX: Final = 4 << 20
BODIES_BYTES_MAX: Final = 256 << 20  # of all requests that a service is reading
HEAD_BYTES_MAX: Final = 64 << 10  # of a request's line and headers
HEAD_SECONDS_MAX: Final = 10  # from a connection's or a request's first byte to the end of its headers
BODY_SECONDS_MAX: Final = 10  # for a JSON body after that
PIECE_SECONDS_MAX: Final = 10  # between two pieces of a body of bytes
BYTES_SECONDS_MAX: Final = 300  # for all of it
LINGER_SECONDS: Final = 2  # how long what a refused client still sends is read and thrown away
IDLE_SECONDS_MAX: Final = 75  # between two requests of a connection
WRITE_SECONDS_MAX: Final = 30  # for a client to take what a stream has for it
CLAIMS_AT_ONCE: Final = 24  # in the engine, before anything was learned; the others stand at the gate
CLAIMS_AT_ONCE_MIN: Final = 4  # what learning makes of it at least
CLAIMS_AT_ONCE_MAX: Final = 512  # and at most
BATCHES_AT_ONCE: Final = 2  # of other verbs, so that no turn of the loop grows long
WAITERS_TICK_SECONDS: Final = 0.5  # how often waiting claims look for what no commit of ours announces
TRIES_PER_LINE_MAX: Final = 24  # waiting claims that look alike and try at once
LINES_PER_TICK: Final = 64  # of waiting claims that look alike
STREAMS_MAX: Final = 256  # followers of the log at one time
STREAM_PAGE: Final = 500  # events per look of a follower
STREAM_REST_SECONDS: Final = 0.05  # between two looks, so that busy times are told in pages
STREAM_SIGN_SECONDS: Final = 15  # between two signs of life on a silent stream
KEYS_REMEMBERED_MAX: Final = 10_000
WRONG_KEYS_AT_ONCE: Final = 20  # per address and per key prefix, before the service answers 429
WRONG_KEYS_SECONDS: Final = 3  # after which one more is forgiven
DRAIN_SECONDS: Final = 1.0  # how long a stopping service still answers on open connections
STOP_SECONDS_MAX: Final = 20  # for what is in flight when it stops
SESSION_SECONDS: Final = 8 * 3_600  # of a sign-in at the pages
SESSIONS_MAX: Final = 10_000
SESSIONS_PER_KEY_MAX: Final = 20  # beyond either the oldest ends
PARKED_SHOWN_MAX: Final = 200  # parks on one page of /work
TASKS_SHOWN_MAX: Final = 50  # tasks on one page of /admin
RELATIVES_MAX: Final = 60  # under a task, and beside it, in the picture of its family
RESULTS_SHOWN_MAX: Final = 20  # of a task on its page, and as many inputs; the latest
EVENTS_SHOWN_MAX: Final = 500  # of a task on one page
EVENTS_SEARCHED_MAX: Final = 500_000  # lines of the log looked through for them
SHOWN_CHARS_MAX: Final = 64 << 10  # of a document on a page; the rest is there for its readers by the API
CHARTS_MAX: Final = 20  # queues whose last hour the board draws
SAMPLE_SECONDS: Final = 10  # between two looks of the board's sampler
SAMPLES_MAX: Final = 60  # minutes that it remembers
BOARD_SECONDS: Final = 1  # how long a rendered board serves everybody
MESSAGE_BODY_BYTES_MAX: Final = 1 << 20
MESSAGE_LINE_CHARS_MAX: Final = 1_000  # a subject, a tag, an in-reply-to, an idempotency key
MESSAGE_TAGS_MAX: Final = 100
MESSAGE_FILE_BYTES_MAX: Final = 64 << 20  # of any file that the messages room reads
MESSAGE_NAMES_MAX: Final = 8  # filenames drawn for one message before giving up
ADDRESS_CHARS_MAX: Final = 255
LEDGER_LOCK_SECONDS_MAX: Final = 60  # how long a send or a read waits for the sender's lock

INTEGER_MAX: Final = 2**53 - 1  # the largest that JavaScript holds exactly
