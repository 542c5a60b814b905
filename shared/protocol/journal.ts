/** The journal's shapes on the wire. GET /api/tenants/{tenant_id}/journal and …/journal/bootstrap */
import type {Cron, PendingJob} from './schedule.ts';
import type {FieldEntry, IndexEntry} from './schema.ts';

/**
 * What a record says happened, with all it takes to do the same elsewhere; documents are in `writes`. New types and members
 * may be added in version 1: a reader passes over those it does not know. Values of variables and code are never in it.
 */
export type JournalEvent =
  | {type: 'document.inserted' | 'document.updated' | 'document.deleted'; table: string; id: string}
  | {type: 'schema.set'; table: string; schema: JournalSchema}
  | {type: 'schema.deleted'; table: string}
  | {type: 'job.scheduled'; id: string; job: PendingJob}
  | {type: 'job.cancelled'; id: string}
  | {type: 'job.completed' | 'job.failed'; id: string; finished_at: number; error: string | null}
  | {type: 'cron.created'; name: string; cron: Cron}
  | {
      type: 'cron.fired';
      name: string;
      last_run: number;
      next_run: number;
      outcome: 'completed' | 'failed';
      error: string | null;
    }
  /** The clock was set back: the cron goes on with another tick. */
  | {type: 'cron.rescheduled'; name: string; next_run: number}
  | {type: 'cron.deleted'; name: string}
  | {type: 'deployment.activated'; id: string; deployment: JournalDeployment}
  /** It is too old to be kept for a roll-back. */
  | {type: 'deployment.forgotten'; id: string}
  | {type: 'environment.set' | 'environment.deleted'; name: string}
  | {type: 'settings.changed'; settings: object};

/** A table schema as GET shows it, without the state of its indexes: whoever replays it builds its own. */
export type JournalSchema = {table: string; fields: FieldEntry[]; indexes: (IndexEntry & {id: string})[]};

/** What names a deployment's code without holding it. `hash` covers all files; `sha256` source and source map of one. */
export type JournalDeployment = {
  id: number;
  created_at: number;
  activated_at: number;
  message: string | null;
  /** Made by svc dev: forgotten before others. */
  development: boolean;
  hash: string;
  files: {path: string; sha256: string}[];
};

/** One document a record wrote: the whole document afterwards, or null when it was deleted. */
export type JournalWrite = {
  table: string;
  id: string;
  op: 'insert' | 'update' | 'delete';
  document: Record<string, unknown> | null;
};

export type JournalRecord = {
  version: 1;
  /** Gapless from 1. */
  sequence: number;
  /** Epoch milliseconds, never less than the record before. */
  timestamp: number;
  events: JournalEvent[];
  writes: JournalWrite[];
  /** The scheduled job or cron run that made it, or null. */
  scheduled_execution_id: string | null;
  /** Hex SHA-256 of the previous digest, a line feed, and this record's stored JSON without this field. */
  integrity_sha256: string;
};

export type JournalPage = {
  records: JournalRecord[];
  /** The `after` of the next call; of an empty page the one it was given. */
  next_cursor: number;
  latest_sequence: number;
  cursor_floor: number;
  has_more: boolean;
  /** Of the tenant's file: another one is another journal, whose sequences mean other records. 32 hex characters. */
  timeline: string;
};

/** What the bootstrap says besides documents and schema. */
export type JournalSnapshotRest = {
  /** Jobs whose results are kept, oldest first. */
  scheduled_execution_ids: string[];
  jobs: PendingJob[];
  crons: Cron[];
  deployments: (JournalDeployment & {active: boolean})[];
  settings: object;
  /** Names of variables; their values are secret. */
  environment: string[];
};

/** The "previous digest" of the first record. */
export const FIRST_PREVIOUS_DIGEST = '0'.repeat(64);
export const JOURNAL_VERSION = 1;
