// A client of a Tessera service: paths, bodies and answers are typed by what the service says of itself.

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./tessera.js";

export type Lease = components["schemas"]["Lease"];
export type Problem = components["schemas"]["Problem"];

/** What the service refused: `code` is for programs, `definite` says that nothing was changed. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.name = "Refused";
  }
}

/** A client that throws `Refused`, so that an answer is always what was asked for. */
export function connect(url: string, key: string): Client<paths> {
  const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });
  client.use({
    async onResponse({ response }) {
      if (!response.ok) throw new Refused((await response.json()) as Problem);
      return response;
    },
  });
  return client;
}
