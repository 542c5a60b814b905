/**
 * Errands: a worker process does one thing in a directory with a tenant's file, answers and ends. It is confined like
 * the worker of a tenant, opens no socket and serves nothing. It can be killed at any time, so each errand leaves its
 * directory in a state from which it can be repeated.
 */
import type {ExpectedPoint} from './drill.ts';

export type Errand =
  /** Makes the file in the directory that of the tenant in its note (shared/tenant-directory.ts). */
  | {kind: 'adopt'; check: AdoptCheck}
  /** Writes a base of the tenant's file into its spool. Answered with a ClosedBase. */
  | {kind: 'base'}
  /** Checks a restored file, and starts its functions. Answered with a DrilledFile. */
  | {kind: 'drill'; expected: ExpectedPoint};

/** Null: the file has another storage version, so its tenant has to be opened first. */
export type ClosedBase = {commit: number | null};

/**
 * How much of the file is checked. `structure`: its definitions, and SQLite's quick check. `whole`: each record,
 * document and index entry as well, as `svc verify` does.
 */
export type AdoptCheck = 'structure' | 'whole';
