/**
 * The timeline of a tenant's journal, as those who follow it know it. It is that of the file (`identity.ts`) until a host
 * of a cluster is lost that had acknowledged commits before the log had them (`--ack local`): the sequences of those
 * commits are given to others then, so the journal goes on under a new timeline, while the file stays the same.
 *
 *   open, --ack local ──▶ the row names the host ──▶ commits … ──▶ closed in order: no host, the log has all
 *   open ──▶ the row names a host, and this is not its file with all that it had ──▶ a new timeline
 *
 * The row is in the log before the host acknowledges a commit.
 */
import {randomBytes} from 'node:crypto';
import {numberTransaction} from './commit-number.ts';
import type {Connection} from './connection.ts';
import {tenantTimeline} from './identity.ts';
import {metaRow, SET_META, storedMeta} from './meta.ts';

const KEY = 'journal_timeline';

/** `of`: the file's timeline, so that a file that is adopted has its own. `host`: can have acknowledged what the log lacks. */
type Row = {of: string; timeline: string; host: string | null};

export type JournalOpening = {
  /** This one. */
  host: string;
  /** It acknowledges commits before the log has them. */
  isLocal: boolean;
  /** The file is that of this host's last worker, and nothing that it had acknowledged was cut off. */
  isWhole: boolean;
};

/** 32 hex characters. */
export function journalTimeline(db: Connection): string {
  return rowOf(db).timeline;
}

/** At the open of the file, before its journal is read. */
export function beginJournal(db: Connection, {host, isLocal, isWhole}: JournalOpening): void {
  const before = rowOf(db);
  const isLost = before.host !== null && !(before.host === host && isWhole);
  const next = {
    of: before.of,
    timeline: isLost ? randomBytes(16).toString('hex') : before.timeline,
    host: isLocal ? host : null,
  };
  if (!isLost && next.host === before.host) return;
  db.transaction(() => {
    db.prepare(SET_META).run(...metaRow(KEY, JSON.stringify(next)));
    numberTransaction(db);
  }).immediate();
}

/** In the last commit before the log is closed in order. */
export function endJournal(db: Connection): void {
  const row = rowOf(db);
  if (row.host !== null) db.prepare(SET_META).run(...metaRow(KEY, JSON.stringify({...row, host: null})));
}

function rowOf(db: Connection): Row {
  const of = tenantTimeline(db);
  const stored = storedMeta(db, KEY);
  const row = stored === undefined ? null : (JSON.parse(String(stored)) as Row);
  return row?.of === of ? row : {of, timeline: of, host: null};
}
