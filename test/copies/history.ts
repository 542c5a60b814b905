/**
 * What a tenant had after each record of its journal, so that a restore to any moment can be compared with it table by table. It is made of
 * the journal as a client reads it, and knows nothing of pages.
 */
import {tableRows} from '../../engine/journal/table-rows.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openReader} from '../../engine/storage/database.ts';
import {storedDocumentText} from '../../engine/storage/document.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {canonical, checkChain, journalAfter, replay, type State} from '../harness/journal.ts';
import type {Doc, Tenant} from '../harness/tenant.ts';

const NO_DIGEST = '0'.repeat(64);
const NOTHING = {snapshot: {documents: {}}} as never;

export class TenantHistory {
  readonly records: readonly JournalRecord[];

  private constructor(records: readonly JournalRecord[]) {
    this.records = records;
  }

  /** All of the journal so far. */
  static async of(tenant: Tenant): Promise<TenantHistory> {
    const {records, texts} = await journalAfter(tenant, 0);
    checkChain(texts);
    return new TenantHistory(records);
  }

  get head(): number {
    return this.records.length;
  }

  stateAt(sequence: number): State {
    return replay(NOTHING, this.records.slice(0, sequence));
  }

  /** Of the newest record at a sequence; of an empty journal, zeros. */
  digestAt(sequence: number): string {
    return this.records[sequence - 1]?.integrity_sha256 ?? NO_DIGEST;
  }

  /** The newest record that is not younger than this. */
  sequenceAt(timeMs: number): number {
    return this.records.filter(({timestamp}) => timestamp <= timeMs).length;
  }

  /** How a file differs from the state at its own head. Empty: not at all. */
  differencesOf(file: FileContent): string[] {
    const {sequence, digest, tables} = file;
    if (sequence > this.head) return [`its journal has ${sequence} records, and there were ${this.head}`];
    if (digest !== this.digestAt(sequence)) return [`record ${sequence} is another one`];
    const expected = this.stateAt(sequence);
    return [...new Set([...expected.keys(), ...tables.keys()])].flatMap(table => {
      const [was, is] = [expected.get(table) ?? [], tables.get(table) ?? []].map(canonical);
      return was === is
        ? []
        : [`table ${table} at record ${sequence}: ${is!.slice(0, 200)}, not ${was!.slice(0, 200)}`];
    });
  }
}

export type FileContent = {sequence: number; digest: string; tables: State};

/** What a closed tenant's file has. */
export function contentOf(path: string): FileContent {
  const db = openReader(path);
  try {
    type Head = {sequence: number; digest: string};
    const newest = db.prepare<[], Head>('SELECT sequence, digest FROM journal ORDER BY sequence DESC LIMIT 1').get();
    const catalog = Catalog.read(db);
    const tables: State = new Map();
    for (const table of catalog.tables()) {
      const rows = [...tableRows(db, catalog, table)];
      if (rows.length > 0)
        tables.set(
          table.name,
          rows.map(row => JSON.parse(storedDocumentText(row)) as Doc),
        );
    }
    return {sequence: newest?.sequence ?? 0, digest: newest?.digest ?? NO_DIGEST, tables};
  } finally {
    db.close();
  }
}
