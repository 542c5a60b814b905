/** One run of a function, as the hosts of queries, mutations and actions take it and what they give back. */

import type {ErrorObject} from '../../shared/errors.ts';
import type {RealmError} from './guest/host-call.ts';

/** Who is asking, for `ctx.auth`. `invalid`: a header was there and is no token of this tenant, and why (HTTP actions only). */
export type Caller = {identity: string | null} | {invalid: string};

/** What asking for an identity fails with that a header should have given. */
export function unverified({invalid}: {invalid: string}): string {
  return `Could not verify the Authorization header: ${invalid}`;
}

/** What makes code of a deployment: enough for a thread to load it by itself. */
export type DeploymentCode = {
  id: number;
  /** The deployment timestamp, epoch milliseconds. */
  timestampMs: number;
  /** 32 hex characters. */
  seed: string;
};

export type Execution = {
  deployment: DeploymentCode;
  /** Canonical path, for messages. */
  path: string;
  /** Module path without extension. */
  module: string;
  name: string;
  paginated: boolean;
  /** Wire JSON text of the arguments object. */
  args: string;
  caller: Caller;
  /** Environment variables of the tenant. */
  env: Readonly<Record<string, string>>;
  /** Epoch milliseconds, whole: the frozen time. */
  nowMs: number;
  /** 32 hex characters. */
  seed: string;
  /** Paginated queries that are run again: where the page ended first. */
  endCursor: string | null;
  /** Somebody watches what it reads: that is told whatever comes of the run. */
  isWatched?: true;
};

export type Outcome = {ok: true; value: string} | {ok: false; error: RealmError};

/** It could not be run, or not to its end, for a reason that is not the code's. */
export type Refused = {refused: ErrorObject};
