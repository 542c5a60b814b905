/** Reading a journal as a follower does, from the text of the responses: digests cover text, not parsed values. */
import {createHash} from 'node:crypto';
import type {JournalPage, JournalRecord, JournalSnapshotRest} from '../../shared/protocol/journal.ts';
import type {Doc, Tenant} from './tenant.ts';

export type Bootstrap = {
  snapshot: {
    version: number;
    applied_sequence: number;
    durable_head: number;
    schema: object;
    documents: Record<string, Doc[]>;
  } & JournalSnapshotRest;
  resume_after_sequence: number;
  bootstrap_cut_sequence: number;
  cursor_floor_sequence: number;
  timeline: string;
};

export async function journalPage(tenant: Tenant, query = ''): Promise<{page: JournalPage; texts: string[]}> {
  const {status, text, body} = await tenant.request('GET', `/journal${query}`);
  if (status !== 200) throw new Error(`journal${query}: ${status} ${text.slice(0, 500)}`);
  return {page: body, texts: recordTexts(text)};
}

/** All records after a sequence, page by page. */
export async function journalAfter(
  tenant: Tenant,
  after: number,
  limit = 1000,
): Promise<{records: JournalRecord[]; texts: string[]}> {
  const records: JournalRecord[] = [];
  const texts: string[] = [];
  for (let cursor = after; ; ) {
    const {page, texts: more} = await journalPage(tenant, `?after=${cursor}&limit=${limit}`);
    records.push(...page.records);
    texts.push(...more);
    cursor = page.next_cursor;
    if (!page.has_more) return {records, texts};
  }
}

export async function bootstrap(tenant: Tenant): Promise<Bootstrap> {
  const {status, text, body} = await tenant.request('GET', '/journal/bootstrap');
  if (status !== 200) throw new Error(`bootstrap: ${status} ${text.slice(0, 500)}`);
  return body;
}

/** The text of each element of `records`, cut out of a page's text. */
export function recordTexts(page: string): string[] {
  const start = '{"records":[';
  if (!page.startsWith(start)) throw new Error(`not a journal page: ${page.slice(0, 100)}`);
  const texts: string[] = [];
  let level = 0;
  let from = start.length;
  for (let i = from; ; i++) {
    const char = page[i];
    if (char === undefined) throw new Error('a journal page ends inside its records');
    if (char === '"') {
      for (i++; page[i] !== '"'; i++) if (page[i] === '\\') i++;
    } else if (char === '{' || char === '[') {
      if (level++ === 0) from = i;
    } else if (char === '}' || char === ']') {
      if (level === 0) return texts;
      if (--level === 0) texts.push(page.slice(from, i + 1));
    }
  }
}

/** Recomputes every digest. Returns the last one; throws at the first record whose own is another. */
export function checkChain(texts: string[], previous = '0'.repeat(64)): string {
  let digest = previous;
  for (const text of texts) {
    const parts = /^(.*),"integrity_sha256":"([0-9a-f]{64})"\}$/s.exec(text);
    if (parts === null) throw new Error(`integrity_sha256 is not the last field of ${text.slice(0, 200)}`);
    digest = createHash('sha256').update(`${digest}\n${parts[1]}}`).digest('hex');
    if (digest !== parts[2]) throw new Error(`the chain breaks at ${text.slice(0, 200)}`);
  }
  return digest;
}

/** Tables that hold documents, each with them in order of creation. */
export type State = Map<string, Doc[]>;

/** What a follower holds: the snapshot, and on it every record after it. */
export function replay({snapshot}: Pick<Bootstrap, 'snapshot'>, tail: JournalRecord[]): State {
  const tables = new Map(
    Object.entries(snapshot.documents).map(([table, docs]) => [table, new Map(docs.map(doc => [doc._id, doc]))]),
  );
  for (const {events, writes} of tail) {
    for (const event of events) {
      if (event.type !== 'table.renamed') continue;
      // A rename is a record of its own.
      tables.set(event.to, tables.get(event.table) ?? new Map());
      tables.delete(event.table);
    }
    for (const {table, id, op, document} of writes) {
      let docs = tables.get(table);
      if (docs === undefined) {
        docs = new Map();
        tables.set(table, docs);
      }
      if (docs.has(id) !== (op !== 'insert'))
        throw new Error(`${op} of ${id}, which is ${docs.has(id) ? '' : 'not '}there`);
      if (document === null) docs.delete(id);
      else docs.set(id, document as Doc);
    }
  }
  return new Map([...tables].filter(([, docs]) => docs.size > 0).map(([table, docs]) => [table, [...docs.values()]]));
}

/** JSON text with keys sorted at every depth: two values are equal when these texts are. `__proto__` is a key. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
