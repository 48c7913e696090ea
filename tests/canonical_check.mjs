// Canonical JSON once more, in the language whose printing RFC 8785 names, sharing nothing with the product.
//
//   node canonical_check.mjs VECTORS.json   checks every vector; exits 1 at the first difference
//   node canonical_check.mjs --batch        reads a JSON array of documents from standard input and writes the
//                                           array of their canonical texts, null for each that is refused

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

function scalar(value) {
  if (typeof value === "string" && !value.isWellFormed()) throw new Error("a lone surrogate");
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Error("larger than a double can hold");
    // From 1e21 on JavaScript prints an exponent, so the text is no integer that a reader could take as exact.
    const printsAsInteger = Number.isInteger(value) && Math.abs(value) < 1e21;
    if (printsAsInteger && !Number.isSafeInteger(value)) throw new Error("an integer beyond 2^53 - 1");
  }
  return JSON.stringify(value);
}

function serialise(value) {
  if (Array.isArray(value)) return `[${value.map(serialise).join(",")}]`;
  if (value === null || typeof value !== "object") return scalar(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${scalar(key)}:${serialise(value[key])}`);
  return `{${members.join(",")}}`;
}

const canonical = (text) => serialise(JSON.parse(text));
const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");

function textOf(vector) {
  if (vector.document_hex === undefined) return vector.document;
  // Fatal, and keeping a byte order mark, which JSON.parse then refuses.
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return strict.decode(Buffer.from(vector.document_hex, "hex"));
}

function attempt(read) {
  try {
    return read();
  } catch {
    return null;
  }
}

function differ(vector, what, expected, found) {
  console.error(`${what} differs\n  vector   ${JSON.stringify(vector)}\n  expected ${expected}\n  found    ${found}`);
  process.exit(1);
}

function check(vectors) {
  for (const vector of vectors.valid) {
    const found = attempt(() => canonical(textOf(vector)));
    if (found !== vector.canonical) differ(vector, "canonical text", vector.canonical, found);
    if (sha256(found) !== vector.sha256) differ(vector, "sha256", vector.sha256, sha256(found));
    const again = attempt(() => canonical(found));
    if (again !== found) differ(vector, "canonical text of the canonical text", found, again);
  }
  for (const vector of vectors.refused) {
    // JSON.parse forgets how a literal was written: an integer from 1e21 on looks like a number with an exponent.
    if (vector.seen_by_value === false) continue;
    const found = attempt(() => canonical(textOf(vector)));
    if (found !== null) differ(vector, "refusal", null, found);
  }
  for (const { sha256: expected, ...outcome } of vectors.receipts) {
    const found = sha256(serialise({ ...outcome, output: JSON.parse(outcome.output) }));
    if (found !== expected) differ(outcome, "receipt", expected, found);
  }
  console.log(`${vectors.valid.length} valid, ${vectors.refused.length} refused, ${vectors.receipts.length} receipts`);
}

if (process.argv[2] === "--batch") {
  const documents = JSON.parse(readFileSync(0, "utf8"));
  const texts = documents.map((text) => attempt(() => canonical(text)));
  process.stdout.write(JSON.stringify(texts));
} else {
  check(JSON.parse(readFileSync(process.argv[2], "utf8")));
}
