// Check an exported topic of lite claims: its order, its running hashes, and who won.
//
//     node verify_topic.mjs ROWS [--last-hash HASH] [--payer ACCOUNT]... [--claims CLAIMS] [--secret SECRET]
//
// ROWS    a file of the topic's rows from the first one on, as a mirror node shows them: one JSON object a line,
//         or JSON with a list of "messages".
// HASH    a running hash that was kept, as a row has it: it must be there, else rows are gone from the end.
// ACCOUNT an account whose messages count; left out, every account's do.
// CLAIMS  a file of all the topic's claims, as `tessera lite export ROLE --claims` has them: each is compared.
// SECRET  a file with the workspace's secret in hex: then what each commitment of CLAIMS stands for is checked.
//
// Needs nothing but Node 20. Exit code 0: all holds; 1: the line that begins with FAILED says what does not;
// 2: there is nothing to check, and the line that begins with error says why.
// A running hash is SHA-384 over what Java's ObjectOutputStream writes of the previous hash, nine numbers and
// the message's own SHA-384. A claim wins if it is the first valid one of its contest: a task and a token.

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const HEAD = Buffer.from("aced0005757200025b42acf317f8060854e0020000787000000030", "hex");
const TAIL = Buffer.from("7571007e000000000030", "hex");
const SECOND_NS = 1_000_000_000n;
const LATE_NS = 180n * SECOND_NS; // a claim that came later than this after it was made has lost
const COMMITMENT = /^[0-9a-f]{64}$/;
const NUMBER = null;
const FIELDS = { // a claim's message: these fields, in this order, in these forms, and nothing else
  type: /^lite_claim_v1$/,
  version: NUMBER,
  claim_id: /^clm_[0-9a-f]{8,40}$/,
  workspace: COMMITMENT,
  queue: COMMITMENT,
  role: COMMITMENT,
  task: COMMITMENT,
  agent: COMMITMENT,
  fencing_token: NUMBER,
  lease_seconds: NUMBER,
  idempotency_sha256: COMMITMENT,
  created_at: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/,
};
const NAMED = { // a field of the message: the field of a claim that it is the commitment to
  workspace: "workspace_id", queue: "queue_id", role: "role_id", task: "task_id",
  agent: "agent_id", idempotency_sha256: "idempotency_sha256",
};

const NEEDED = { // what each document has, by the name that a list of them goes under
  messages: ["consensus_timestamp", "message", "payer_account_id", "running_hash", "running_hash_version",
    "sequence_number", "topic_id"],
  claims: ["claim_id", ...Object.values(NAMED), "fencing_token", "lease_seconds", "state", "topic_id", "proof"],
};
const USAGE = "usage: node verify_topic.mjs ROWS [--last-hash HASH] [--payer ACCOUNT]... [--claims CLAIMS] "
  + "[--secret SECRET]";

class Failed extends Error {}

// A file that is to be checked is none, or is something else.
class Unreadable extends Error {}

const sha384 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha384")).digest();

// A topic's or account's three numbers.
function entity(text) {
  if (!/^(0|[1-9][0-9]{0,17})(\.(0|[1-9][0-9]{0,17})){2}$/.test(text)) throw new RangeError(text);
  return text.split(".").map(BigInt);
}

// A consensus time: seconds, a dot, nine digits.
function nanoseconds(stamp) {
  if (!/^[0-9]+\.[0-9]{9}$/.test(stamp)) throw new RangeError(stamp);
  return BigInt(stamp.replace(".", ""));
}

// The running hash after a row.
function runningHash(previous, row, message) {
  const time = nanoseconds(row.consensus_timestamp);
  const numbers = Buffer.alloc(76);
  const eight = [3n, ...entity(row.payer_account_id), ...entity(row.topic_id), time / SECOND_NS];
  eight.forEach((number, place) => numbers.writeBigInt64BE(number, place * 8));
  numbers.writeInt32BE(Number(time % SECOND_NS), 64);
  numbers.writeBigInt64BE(BigInt(row.sequence_number), 68);
  return sha384(HEAD, previous, Buffer.from([0x77, 0x4c]), numbers, TAIL, sha384(message));
}

// Bytes from base64 in its one right form.
function decoded(text) {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw new RangeError(text);
  return bytes;
}

// The rows with their messages as bytes, if each follows from the one before it.
function checked(rows) {
  let [previous, last] = [Buffer.alloc(48), 0n];
  return rows.map((row, place) => {
    const number = place + 1;
    if (row.sequence_number !== number) {
      throw new Failed(`row ${number}: row ${row.sequence_number} stands in its place`);
    }
    let message, digest, time;
    try {
      message = decoded(row.message);
      digest = runningHash(previous, row, message);
      time = nanoseconds(row.consensus_timestamp);
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      throw new Failed(`row ${number}: no row of a topic`);
    }
    if (row.topic_id !== rows[0].topic_id) throw new Failed(`row ${number}: of another topic`);
    if (row.running_hash_version !== 3 || digest.toString("base64") !== row.running_hash) {
      throw new Failed(`row ${number}: its running hash is not that of its content and the row before it`);
    }
    if (time <= last) throw new Failed(`row ${number}: no later than the row before it`);
    [previous, last] = [digest, time];
    return { row, message };
  });
}

// When a claim was made; NaN for no such day.
function madeNs(stamp) {
  const date = new Date(`${stamp.slice(0, 19)}Z`);
  const exists = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === stamp.slice(0, 19);
  if (!exists || stamp.startsWith("0000")) return null;
  return BigInt(date.getTime()) * 1_000_000n + BigInt(stamp.slice(20, 26)) * 1_000n;
}

// The claim that a row makes, or null.
function claimOf({ row, message }) {
  if (message.length > 1024 || (row.chunk_info != null && row.chunk_info.total !== 1)) return null;
  const text = message.toString("utf8");
  let claim;
  try {
    claim = JSON.parse(text);
  } catch {
    return null;
  }
  const names = Object.keys(FIELDS);
  if (claim === null || typeof claim !== "object" || Object.keys(claim).join() !== names.join()) return null;
  const fits = names.every((name) => FIELDS[name] === NUMBER
    ? Number.isSafeInteger(claim[name]) && claim[name] >= 1
    : typeof claim[name] === "string" && FIELDS[name].test(claim[name]));
  if (!fits || claim.version !== 1 || JSON.stringify(claim) !== text) return null;
  const made = madeNs(claim.created_at);
  return made === null || nanoseconds(row.consensus_timestamp) - made > LATE_NS ? null : claim;
}

// What a claim contends for.
const contest = (claim) => `${claim.task} ${claim.fencing_token}`;

// A claim of the store with what the rows say of it.
function compare(claim, found, won, secret) {
  const [name, proof] = [`claim ${claim.claim_id}`, claim.proof];
  if (proof === null) {
    if (["claimed", "missed"].includes(claim.state)) throw new Failed(`${name}: ${claim.state}, and without a proof`);
    return;
  }
  const number = proof.sequence_number;
  if (found[number - 1] === undefined) throw new Failed(`${name}: row ${number} is missing`);
  const { row, message } = found[number - 1];
  for (const field of ["topic_id", "running_hash", "consensus_timestamp"]) {
    if (proof[field] !== null && proof[field] !== row[field]) {
      throw new Failed(`${name}: another ${field} than row ${number}`);
    }
  }
  const said = claimOf(found[number - 1]);
  if (said === null && claim.state !== "claimed" && message.includes(`"${claim.claim_id}"`)) return; // it came late
  if (said?.claim_id !== claim.claim_id) {
    throw new Failed(`${name}: row ${number} is not its message, or is no valid one`);
  }
  if (said.fencing_token !== claim.fencing_token || said.lease_seconds !== claim.lease_seconds) {
    throw new Failed(`${name}: another token or lease than row ${number}`);
  }
  const wins = won.get(contest(said))?.claim.claim_id === claim.claim_id;
  if (wins !== (claim.state === "claimed") && claim.state !== "void") {
    throw new Failed(`${name}: ${claim.state}, but by the rows it ${wins ? "won" : "lost"}`);
  }
  for (const [field, named] of secret === null ? [] : Object.entries(NAMED)) {
    const content = `lite_claim_v1\0${field.split("_")[0]}\0${claim[named]}`;
    if (createHmac("sha256", secret).update(content).digest("hex") !== said[field]) {
      throw new Failed(`${name}: its ${named} is not the one in row ${number}`);
    }
  }
}

// The row that has a hash which was kept.
function place(found, kept) {
  if (!/^[A-Za-z0-9+/]{64}$/.test(kept)) {
    throw new Unreadable("--last-hash: a running hash is 64 characters of base64, as a row has it");
  }
  const at = found.findIndex(({ row }) => row.running_hash === kept);
  if (at >= 0) return at + 1;
  throw new Failed(`row ${found.length + 1}: the kept hash is of none so far: rows are missing at the end`);
}

// The line about who won a contest.
function winner(row, said, claim) {
  const [name, token] = [`row ${row.sequence_number}: ${said.claim_id}`, said.fencing_token];
  if (claim === undefined) return `${name} won task ${said.task} under token ${token}`;
  if (claim.proof === null && claim.state !== "void") {
    throw new Failed(`${name} won, but it is ${claim.state}, and without a proof`);
  }
  const free = claim.state === "void" ? ", void: it got no lease" : "";
  return `${name} won task ${claim.task_id} under token ${token} for ${claim.agent_id}${free}`;
}

// The objects in a file, one at least: one a line, or a list under a name in one or more objects.
function documents(path, name) {
  const text = content(path);
  let whole;
  try {
    whole = [JSON.parse(text)];
  } catch {
    try {
      whole = text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
    } catch {
      throw new Unreadable(`${path}: no JSON, whole or line by line`);
    }
  }
  const isObject = (one) => typeof one === "object" && one !== null && !Array.isArray(one);
  const found = whole.flatMap((document) => (isObject(document) && name in document ? document[name] : [document]));
  if (found.length === 0) throw new Unreadable(`${path}: it has no ${name}, so there is nothing to check`);
  for (const needed of NEEDED[name]) {
    if (!found.every((one) => isObject(one) && needed in one)) {
      throw new Unreadable(`${path}: not every one of its ${name} has its ${needed}`);
    }
  }
  return found;
}

// The text of a file.
function content(path) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (failure) {
    throw new Unreadable(`${path}: ${failure.code === "ENOENT" ? "No such file or directory" : "no text"}`);
  }
}

// The secret that a file holds in hex.
function secretIn(path) {
  const text = content(path).trim();
  if (!/^([0-9a-f]{2})+$/.test(text)) throw new Unreadable(`${path}: a secret is hex digits and nothing else`);
  return Buffer.from(text, "hex");
}

// What the command line asks for.
function asked(options) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (positionals.length === 1) return { values, positionals };
  } catch {
    // an option that there is not
  }
  throw new Unreadable(USAGE);
}

function main() {
  const { values, positionals } = asked({
    "last-hash": { type: "string" }, payer: { type: "string", multiple: true, default: [] },
    claims: { type: "string" }, secret: { type: "string" },
  });
  if (values.secret !== undefined && values.claims === undefined) {
    throw new Unreadable("--secret: whose ids it hides is in the claims: give --claims too");
  }
  const say = (line) => process.stdout.write(`${line}\n`);
  const found = checked(documents(positionals[0], "messages"));
  say(`${found.length} rows, each following from the one before it`);
  say(`last running hash ${found.at(-1).row.running_hash}`);
  const kept = values["last-hash"];
  if (kept !== undefined) say(`row ${place(found, kept)} has the kept hash`);
  const idle = values.payer.find((payer) => found.every(({ row }) => row.payer_account_id !== payer));
  if (idle !== undefined) throw new Unreadable(`--payer ${idle}: it paid for none of the rows`);
  const counts = ({ row }) => values.payer.length === 0 || values.payer.includes(row.payer_account_id);
  const read = found.filter(counts).map((one) => ({ row: one.row, claim: claimOf(one) }));
  const said = read.filter(({ claim }) => claim !== null);
  const won = new Map(); // the winner of each contest, in the topic's order
  for (const one of said) if (!won.has(contest(one.claim))) won.set(contest(one.claim), one);
  const listed = values.claims !== undefined ? documents(values.claims, "claims") : [];
  const ours = listed.filter((claim) => claim.topic_id === found[0].row.topic_id);
  if (listed.length > 0 && ours.length === 0) {
    throw new Unreadable(`${values.claims}: none of its claims is of the topic of the rows`);
  }
  const claims = new Map(ours.map((claim) => [claim.claim_id, claim]));
  const secret = values.secret !== undefined ? secretIn(values.secret) : null;
  for (const claim of claims.values()) compare(claim, found, won, secret);
  const lone = claims.size > 0 && said.find(({ claim }) => !claims.has(claim.claim_id));
  if (lone) throw new Failed(`row ${lone.row.sequence_number}: ${lone.claim.claim_id} is not among the claims`);
  for (const { row, claim } of won.values()) say(winner(row, claim, claims.get(claim.claim_id)));
  say(`${won.size} contests, ${claims.size} claims compared, ids ${secret === null ? "not " : ""}checked`);
}

try {
  main();
} catch (failure) {
  if (!(failure instanceof Unreadable || failure instanceof Failed)) throw failure;
  process.exitCode = failure instanceof Failed ? 1 : 2;
  if (failure instanceof Failed) process.stdout.write(`FAILED ${failure.message}\n`);
  else process.stderr.write(`error: ${failure.message}\n`);
}
