#!/bin/sh
# A worker in plain shell: curl and jq, nothing of Tessera installed. It carries one task, then it ends.
#
#   TESSERA_KEY=... sh examples/shell_worker.sh http://127.0.0.1:8787 QUEUE COMMAND...
#
# COMMAND reads the brief (JSON) and writes the output (JSON). Exit code 3: nothing came within the wait.
# A worker that goes on is a loop around this: while sh shell_worker.sh ...; do :; done
set -eu
usage='usage: TESSERA_KEY=... sh shell_worker.sh URL QUEUE COMMAND...'
url=${1:?"$usage"} queue=${2:?"$usage"}
: "${3:?"$usage"}" "${TESSERA_KEY:?"holds no key: tessera keys issue --queue QUEUE makes one"}"
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The key goes to curl in a file for our eyes only: arguments show in the list of processes.
(umask 077 && printf 'header = "Authorization: Bearer %s"\n' "$TESSERA_KEY" > "$work/key")

# send FILE PATH BODY [OPTION...]: POST a body; the answer goes to the file, its status to standard output.
send() {
    file=$1 path=$2 body=$3
    shift 3
    curl --silent --config "$work/key" --retry 5 --retry-connrefused --max-time 60 --output "$file" \
        --write-out '%{http_code}' --header 'Content-Type: application/json' --data-binary "$body" "$@" \
        "$url$path"
}

# The idempotency key makes the claim safe to send again: a lost answer costs no attempt.
name="shell-$(hostname)-$$"
claim=$(jq -nc --arg queue "$queue" --arg name "$name" '{queue: $queue, worker: $name, wait_seconds: 20}')
status=$(send "$work/lease" /v1/tasks/claim "$claim" --header "Idempotency-Key: $name-$(date +%s)")
case $status in
    200) ;;
    204) exit 3 ;;
    *) cat "$work/lease" >&2; exit 1 ;;
esac
handle=$(jq -c '{task_id, fencing_token}' "$work/lease")

# The command works, and heartbeats keep the lease. A refused one means that the task is not ours any more.
jq -c .brief "$work/lease" > "$work/brief"
"$@" < "$work/brief" > "$work/output" 2> "$work/error" &
command=$!
pause=$(jq -r '.heartbeat_seconds / 2' "$work/lease")
(
    trap 'kill "$nap" 2> /dev/null' TERM
    while sleep "$pause" & nap=$!; wait "$nap"; do
        [ "$(send "$work/beat" /v1/tasks/heartbeat "$handle")" = 200 ] || { kill "$command"; break; }
    done
) &
beating=$!

if wait "$command" && jq -c . "$work/output" > "$work/checked" 2>> "$work/error"; then
    body=$(printf %s "$handle" | jq -c --slurpfile output "$work/checked" '. + {output: $output[0]}')
else
    body=$(printf %s "$handle" | jq -c --rawfile error "$work/error" '. + {ok: false, error: $error[-2000:]}')
fi
kill "$beating" 2> /dev/null || true

# TASK:TOKEN as the key: sent twice, the second is answered with the receipt of the first.
once=$(jq -r '"\(.task_id):\(.fencing_token)"' "$work/lease")
status=$(send "$work/receipt" /v1/tasks/submit "$body" --header "Idempotency-Key: $once")
jq -r '"\(.task_id // "refused"): \(.state // .detail)"' "$work/receipt"
[ "$status" = 200 ]
