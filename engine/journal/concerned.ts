/** What a record of the journal concerns: by this it is found, summarized and counted. */
import type {JournalKind} from '../../shared/journal-kinds.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';

export type Concerned = {
  readonly kind: JournalKind;
  readonly tables: readonly string[];
  readonly document: string | null;
};

/** @param record a sound one, parsed */
export function concernedBy({writes, events}: JournalRecord): Concerned[] {
  const all: Concerned[] = writes.map(({op, table: of, id}) => ({kind: op, tables: [of], document: id}));
  for (const event of events) {
    if (event.type.startsWith('document.')) continue;
    const {table: of, to} = event as {table?: string; to?: string};
    const tables = [of, to].filter(name => name !== undefined);
    all.push({kind: event.type.slice(0, event.type.indexOf('.')) as JournalKind, tables, document: null});
  }
  return all;
}

/** The ids under which logs and lists know what caused it. */
export function causeIds({cause}: JournalRecord): string[] {
  return [cause?.request_id, cause?.job_id, cause?.cron].filter(id => id !== undefined);
}
