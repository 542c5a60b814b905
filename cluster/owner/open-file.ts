/**
 * Brings a tenant's closed file to its log, and opens the log for it.
 *
 *   read behind the place of the file ─▶ a set that it lacks is applied; where it has another history it is cut
 *        └─ the tail is of the file's own epoch, and the file is ahead ─▶ what is ahead is appended, with that epoch
 *   open: the same reading, and the `open` record, until it is the next one
 */
import {sourceOf} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import type {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {LogRecord, OpenOptions, OpenOutcome, TenantLog} from '../log/tenant-log.ts';
import {decodePlace, encodePlace} from './place.ts';

export type FileOpenOptions = Pick<OpenOptions, 'epoch' | 'note' | 'ownerEnds' | 'signal'>;

/**
 * @returns as `TenantLog.open`; the file is at the tail of the log if it is `opened`, and then its place is saved
 * @throws LogError, EngineError: the caller opens it again, which goes on from where the file is
 * @throws CopyError, PageSetError: the file cannot be continued
 */
export async function openFile(log: TenantLog, file: ReplicatedFile, options: FileOpenOptions): Promise<OpenOutcome> {
  const from = file.place === null ? null : decodePlace(file.place);
  let tail = from?.position ?? null;
  let openedBy = from?.openedBy ?? null;
  const apply = async (record: LogRecord) => {
    const {kind} = record.head;
    const body = await bodyOf(record);
    if (kind === 'open') openedBy = body.toString();
    const place = encodePlace(record.position, openedBy ?? '');
    if (kind === 'open' || kind === 'close') file.pass(kind, place);
    else file.apply(new PageSet(sourceOf(body)), place);
    tail = record.position;
  };
  for await (const record of log.read(tail)) await apply(record);
  const ended = await appendAhead(log, file, {tail, epoch: from?.position.epoch, signal: options.signal});
  if (ended !== null) return ended;
  const outcome = await log.open({...options, from: tail, openedBy, apply});
  if (outcome.kind === 'opened') file.finish(encodePlace(outcome.position, options.note));
  return outcome;
}

/**
 * A commit that only the file has was not acknowledged. But the log could have had it and lost it, so it is appended if
 * it continues the log. The reading that follows finds out whether the log has it.
 */
async function appendAhead(
  log: TenantLog,
  file: ReplicatedFile,
  {tail, epoch, signal}: {tail: LogPosition | null; epoch: number | undefined; signal: AbortSignal | undefined},
): Promise<OpenOutcome | null> {
  const ahead = aheadOf(file);
  if (ahead === null || tail === null || tail.epoch !== epoch || tail.kind === 'close') return null;
  const outcome = await log.append(tail, {kind: 'commit', epoch, body: sourceOf(ahead)}, signal);
  const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
  return kind === 'full' || kind === 'abandoned' ? {kind} : null;
}

/** @throws LogError: the reading was stale, or the log has lost records that the file has */
function aheadOf(file: ReplicatedFile): Buffer | null {
  try {
    return file.ahead();
  } catch (cause) {
    if (cause instanceof CopyError) throw new LogError('behind', cause.message, {cause});
    throw cause;
  }
}

async function bodyOf(record: LogRecord): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of record.body()) parts.push(part);
  return Buffer.concat(parts);
}
