"""Every bound of the wake room, named with its unit last. (Adapter contract, "Message and delivery
states".)
"""

from typing import Final

SECOND_MS: Final = 1_000

BODY_BYTES_MAX: Final = 8 << 10
METADATA_BYTES_MAX: Final = 4 << 10
LINE_BYTES_MAX: Final = 128 << 10  # a legal send can need 73,710 bytes when all of it is escaped
NOTE_BYTES_MAX: Final = 512
TARGET_BYTES_MAX: Final = 4 << 10
NAME_CHARS_MAX: Final = 200
KEY_CHARS_MAX: Final = 255
REPOS_PER_ENDPOINT_MAX: Final = 100
REASON_CHARS_MAX: Final = 200
PLAIN_LINE_BYTES_MAX: Final = 4_000  # a terminal in line mode cuts a line at 4,096

RETRY_MS: Final = (5_000, 15_000, 60_000, 300_000)
ATTEMPTS_MAX: Final = 9
ATTEMPTS_DEFAULT: Final = 3
ACK_SECONDS: Final = 30
ACK_SECONDS_MAX: Final = 3_600
LEASE_MS: Final = 20_000
WRITE_US: Final = 14_000_000  # no key is pressed later than this after a claim: well inside the lease
LOOK_AGAIN_US: Final = 2_000_000  # after "not ready"
DEFER_MS_MAX: Final = 600_000  # of "not ready" before it counts as a failed attempt
TTL_MS: Final = 45_000  # how long a stale endpoint may come back before it counts as gone
HEARTBEAT_SECONDS: Final = 15
CHECK_US: Final = 15_000_000  # between two looks at whether an endpoint is still there
FRESH_US: Final = 2_000_000  # how old such a look may be when a send relies on it
SWEEP_US: Final = 1_000_000
JUMP_US: Final = 2_000_000  # by how much the two clocks must part to be called a jump
SETTLED_PER_SWEEP_MAX: Final = 500
DELIVERIES_MAX: Final = 16  # at once, over all endpoints

CONNECTIONS_MAX: Final = 64
READ_SECONDS_MAX: Final = 10.0  # for one whole line
WRITE_SECONDS_MAX: Final = 10.0
CLIENT_SECONDS_MAX: Final = 15.0
SOCKET_PATH_BYTES_MAX: Final = 103  # macOS has room for 104, Linux for 108, each with a NUL

PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 200
EVENTS_WAITING_MAX: Final = 256  # of one subscriber
EVENTS_KEPT_MAX: Final = 200_000
KEEPALIVE_SECONDS: Final = 15.0

TMUX_SECONDS_MAX: Final = 3.0  # of one call
QUIET_SECONDS: Final = 4  # since somebody's last key in a pane
PROVE_US: Final = 1_500_000
ENTER_SECONDS: Final = 0.15  # after the text: beyond what terminal applications take for one burst
LOOK_SECONDS: Final = 0.05
HOOK_SECONDS_MAX: Final = 10.0  # of an agent's own command

DROPS_MAX: Final = 1_000  # acknowledgement files looked at in one sweep
REGISTRY_BYTES_MAX: Final = 4 << 20
REGISTRY_TRIES_MAX: Final = 3
REGISTRY_SECONDS: Final = 0.05  # between two tries
REGISTRY_YOUNG_SECONDS: Final = 1.0
TRANSCRIPT_BYTES_MAX: Final = 256 << 10  # of a session's transcript that a stop hook reads, from its end
