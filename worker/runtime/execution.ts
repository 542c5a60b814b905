/** One run of a function: input and results of the hosts of queries, mutations and actions. */

import type {ErrorObject} from '../../shared/errors.ts';
import type {RealmError} from './guest/host-call.ts';

/**
 * The caller's identity, for `ctx.auth`. `invalid`: a header was sent, but its token is not valid for this tenant, and
 * why (HTTP actions only).
 */
export type Caller = {identity: string | null} | {invalid: string};

/** The error for reading an identity whose header was not valid. */
export function unverified({invalid}: {invalid: string}): string {
  return `Could not verify the Authorization header: ${invalid}`;
}

/** A deployment's code: enough for a thread to load it by itself. */
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
  /** For paginated queries that are run again: where the page ended the first time. */
  endCursor: string | null;
  /** The query has a subscriber, which gets every result of the run. */
  isWatched?: true;
};

export type Outcome = {ok: true; value: string} | {ok: false; error: RealmError};

/** It could not be run, or not completely, for a reason other than its code. */
export type Refused = {refused: ErrorObject};
