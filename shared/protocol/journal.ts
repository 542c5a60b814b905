/** The journal's shapes on the wire. GET /api/tenants/{tenant_id}/journal and …/journal/bootstrap */

/** What a record says happened. `table`, `id` and `name` are there where the type has one. */
export type JournalEvent = {
  type:
    | 'document.inserted'
    | 'document.updated'
    | 'document.deleted'
    | 'schema.set'
    | 'schema.deleted'
    | 'job.scheduled'
    | 'job.cancelled'
    | 'job.completed'
    | 'job.failed'
    | 'cron.created'
    | 'cron.deleted'
    | 'cron.fired'
    | 'deployment.activated'
    | 'environment.set'
    | 'environment.deleted'
    | 'settings.changed';
  table?: string;
  id?: string;
  name?: string;
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

/** The "previous digest" of the first record. */
export const FIRST_PREVIOUS_DIGEST = '0'.repeat(64);
export const JOURNAL_VERSION = 1;
