// A worker of the queue that is named: claims its tasks, or those of the kinds that are named too, does them, hands in the
// results, and ends when there are none.
// The service's URL is in TESSERA_STORE, the key in TESSERA_KEY.

import { connect, type Lease } from "./client.js";

const { TESSERA_STORE: url = "http://127.0.0.1:8787", TESSERA_KEY: key = "" } = process.env;
const [queue = "review", worker = "typescript", ...kinds] = process.argv.slice(2);
const client = connect(url, key);

/** The work itself: here, how many words the brief's text has. */
function done(lease: Lease): { words: number } {
  const text = lease.brief["text"];
  if (typeof text !== "string") throw new Error("the brief has no text");
  return { words: text.split(/\s+/).filter(Boolean).length };
}

/** Hand in what came of a lease. Sent again under the same key, this gives the first receipt again. */
async function submit(lease: Lease): Promise<string> {
  let outcome: { ok: boolean; output?: unknown; error?: string };
  try {
    outcome = { ok: true, output: done(lease) };
  } catch (error) {
    outcome = { ok: false, error: String(error) };
  }
  const { data } = await client.POST("/v1/tasks/submit", {
    params: { header: { "Idempotency-Key": `${lease.task_id}:${lease.fencing_token}` } },
    body: { task_id: lease.task_id, fencing_token: lease.fencing_token, ...outcome },
  });
  return data ? `${data.task_id} ${data.state} ${data.sha256}` : "no receipt";
}

// A queue may hold what others do: a worker that can do only some kinds says which.
const ask = { queue, worker, ...(kinds.length ? { kinds } : {}) };
for (;;) {
  const { data: lease } = await client.POST("/v1/tasks/claim", { body: { ...ask, wait_seconds: 1 } });
  if (!lease) break; // 204: nothing to do
  console.log(await submit(lease));
}
