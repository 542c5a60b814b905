/**
 * Sends lines as inserts, a bounded number at a time, each exactly once.
 *
 * Every insert carries an `Idempotency-Key` made of the import's id, the place of the line and its bytes. So a request whose
 * answer was lost is sent again without a second document, and so is a whole import that was interrupted, crashed or
 * stopped at a bad line: what is there already stays as it is. The server remembers keys for IDEMPOTENCY_KEEP_MS.
 */
import {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import {assert} from '../../shared/assert.ts';
import {DOCUMENT_BYTES_MAX} from '../../shared/limits.ts';
import type {JournalPage} from '../../shared/protocol/journal.ts';
import {decodeId} from '../../worker/storage/ids.ts';
import {RefusedRequest, type ServiceClient, tenantPath} from '../client.ts';
import {CommandFailure} from '../failure.ts';
import {type Member, topLevelMembers, withoutMembers} from './json-members.ts';
import type {Line} from './line-reader.ts';

export type ImportTarget = {
  client: ServiceClient;
  tenant: string;
  /** Lines are documents of this table; null: each is `{"table", "document"}`. */
  table: string | null;
  /** Lines of two imports with different ids are different documents, even when they look the same. */
  importId: string;
  /** The tenant's latest write before the import: a document that is not younger was imported by an earlier run. */
  latestWriteMs: number;
  inFlight: number;
  /** Count a line the server refuses instead of stopping at it. */
  skipBad: boolean;
};

export type ImportTally = {
  imported: number;
  /** Those of `imported` that an earlier run had imported already. */
  existing: number;
  bad: number;
  /** Bytes of the input up to the furthest line that was dealt with. */
  bytes: number;
};

export type ImportObserver = {
  moved(tally: Readonly<ImportTally>): void;
  badLine(line: number, message: string): void;
};

export type StopReason = {line: number; message: string; isBadLine: boolean};

export type ImportEnd = ImportTally & {
  /** Why it stopped early, and at which line; the first such line where there are several. */
  stoppedBy: StopReason | null;
};

/** A line: a document with its system fields and its table around it, and air. A longer one cannot be a document. */
export const LINE_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX;

/** An export has them; the server makes new ones. */
const SYSTEM_FIELDS = new Set(['_id', '_creationTime', '_updateTime']);
/** What the server answers when the line is at fault, and not the server or the request's circumstances. */
const BAD_LINE_CODES = new Set(['op.invalid_input', 'op.schema_violation', 'op.too_large']);

/** @param interrupted ends the import in order: what is under way is finished, nothing new is begun */
export async function importLines(
  lines: AsyncIterator<Line, void, void>,
  target: ImportTarget,
  observer: ImportObserver,
  interrupted?: AbortSignal,
): Promise<ImportEnd> {
  assert(target.inFlight >= 1, `${target.inFlight} requests in flight`);
  const end: ImportEnd = {imported: 0, existing: 0, bad: 0, bytes: 0, stoppedBy: null};
  const stop = (reason: StopReason): void => {
    if (end.stoppedBy === null || reason.line < end.stoppedBy.line) end.stoppedBy = reason;
  };
  const isInterrupted = (): boolean => interrupted?.aborted === true;
  const lane = async (): Promise<void> => {
    while (end.stoppedBy === null && !isInterrupted()) {
      const {done, value: line} = await lines.next();
      // After an interruption the last line may be cut short.
      if (done === true || isInterrupted()) return;
      try {
        const id = await insertLine(line, target);
        end.imported += 1;
        if ((decodeId(id)?.createdMs ?? 0) <= target.latestWriteMs) end.existing += 1;
      } catch (caught) {
        if (!(caught instanceof CommandFailure)) throw caught;
        const badLine = isBadLine(caught);
        if (!(target.skipBad && badLine)) {
          stop({line: line.number, message: caught.message, isBadLine: badLine});
          return;
        }
        end.bad += 1;
        observer.badLine(line.number, caught.message);
      }
      end.bytes = Math.max(end.bytes, line.endsAt);
      observer.moved(end);
    }
  };
  await Promise.all(Array.from({length: target.inFlight}, lane));
  return end;
}

/** When the tenant was last written to, in its own clock; 0 for never. */
export async function latestWriteMs(client: ServiceClient, tenant: string): Promise<number> {
  const path = tenantPath(tenant, 'journal');
  const start = await client.json<JournalPage>('GET', `${path}?limit=1`);
  if (start.latest_sequence === 0) return 0;
  const last = await client.json<JournalPage>('GET', `${path}?after=${start.latest_sequence - 1}&limit=1`);
  return last.records[0]?.timestamp ?? 0;
}

class BadLine extends CommandFailure {}

function isBadLine(failure: CommandFailure): boolean {
  return failure instanceof BadLine || (failure instanceof RefusedRequest && BAD_LINE_CODES.has(failure.code));
}

async function insertLine(line: Line, target: ImportTarget): Promise<string> {
  const path = tenantPath(target.tenant, 'documents');
  const headers = {'idempotency-key': keyOf(line, target)};
  const {body} = await target.client.request('POST', path, insertBody(line, target.table), headers);
  return (JSON.parse(body.toString()) as {id: string}).id;
}

function insertBody({bytes}: Line, table: string | null): Buffer {
  if (bytes === null) throw new BadLine(`the line is longer than ${LINE_BYTES_MAX} bytes`);
  const members = topLevelMembers(bytes);
  if (members === null) throw new BadLine('the line is not a JSON object');
  if (table !== null) return joined(JSON.stringify(table), withoutMembers(bytes, members, SYSTEM_FIELDS));
  const tableText = memberOf(bytes, members, 'table');
  const document = memberOf(bytes, members, 'document');
  const documentMembers = document && topLevelMembers(document);
  if (!tableText || !document || !documentMembers) {
    throw new BadLine('the line is not {"table": …, "document": {…}}; give --table if lines are documents');
  }
  return joined(tableText.toString(), withoutMembers(document, documentMembers, SYSTEM_FIELDS));
}

function memberOf(text: Buffer, members: readonly Member[], key: string): Buffer | null {
  const member = members.findLast(each => each.key === key);
  return member === undefined ? null : text.subarray(member.valueStart, member.end);
}

function joined(table: string, fields: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"table":${table},"fields":`), fields, Buffer.from('}')]);
}

function keyOf({number, bytes}: Line, {tenant, table, importId}: ImportTarget): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([importId, tenant, table, number]))
    .update(bytes ?? '')
    .digest('base64url');
  return `svc-import-${digest}`;
}
