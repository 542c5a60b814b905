/** Sends the rows of a file, one request after another, and counts what became of them. */
import type {StoredTableSchema} from '../../../../shared/protocol/schema.ts';
import {messageOf} from '../../../api/failure.ts';
import {randomId} from '../../../api/random-id.ts';
import {formatOf, rowsOf} from './file-rows.ts';
import {type ColumnMapping, importRequests} from './import-mapping.ts';
import {sendLines} from './send-lines.ts';

export type ImportProgress = {
  readonly state: 'running' | 'done' | 'failed';
  /** Of the file that were read. */
  readonly bytes: number;
  readonly inserted: number;
  readonly refused: number;
  /** The first rows that were left out, by line of the file. */
  readonly examples: readonly {readonly line: number; readonly message: string}[];
  readonly error: string | null;
};

const EXAMPLES_MAX = 20;

/** The text of a file as it is read. */
export async function* textOf(file: File, onBytes: (count: number) => void): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  for await (const chunk of file.stream()) {
    onBytes(chunk.length);
    yield decoder.decode(chunk, {stream: true});
  }
  yield decoder.decode();
}

export async function runImport({
  tenant,
  table,
  file,
  mapping,
  schema,
  signal,
  onProgress,
}: {
  tenant: string;
  table: string;
  file: File;
  mapping: readonly ColumnMapping[];
  schema: StoredTableSchema | null;
  signal: AbortSignal;
  onProgress(progress: ImportProgress): void;
}): Promise<void> {
  let progress: ImportProgress = {state: 'running', bytes: 0, inserted: 0, refused: 0, examples: [], error: null};
  const report = (change: Partial<ImportProgress>) => {
    progress = {...progress, ...change};
    onProgress(progress);
  };
  report({});
  let bytes = 0;
  let leftOut = 0;
  let failed = 0;
  // The server knows the import by this name, so no line is imported twice if a request has to be repeated.
  const importId = `dashboard-${randomId()}`;
  const rows = rowsOf(
    textOf(file, count => {
      bytes += count;
    }),
    formatOf(file.name),
  );
  try {
    for await (const {body, rows: sent, firstLine, fileLines, refused} of importRequests(rows, mapping, schema)) {
      signal.throwIfAborted();
      const query = {table, on_error: 'skip', import_id: importId, first_line: firstLine} as const;
      const answer = sent === 0 ? null : await sendLines(tenant, query, body, signal);
      const failures = (answer?.errors ?? []).flatMap(({line, message}) => {
        const fileLine = fileLines[line - firstLine];
        return fileLine === undefined ? [] : [{line: fileLine, message}];
      });
      const local = refused.map(({line, problems}) => ({line, message: problems.join('; ')}));
      leftOut += refused.length;
      // The server counts all requests of the import.
      failed = answer?.failed ?? failed;
      report({
        bytes,
        inserted: answer?.inserted ?? progress.inserted,
        refused: leftOut + failed,
        examples: [...progress.examples, ...local, ...failures].slice(0, EXAMPLES_MAX),
      });
    }
    report({state: 'done'});
  } catch (error) {
    report({state: 'failed', error: signal.aborted ? 'Cancelled. What was imported stays.' : messageOf(error)});
  }
}
