/** An answer that is given once a write is on disk. */
import {traitsOf} from '../../shared/operations.ts';
import {checkIdempotencyKey, once, requestDigest} from '../commit/idempotency.ts';
import type {Writer} from '../commit/writer.ts';
import type {Request} from '../ipc/decode.ts';
import {Later} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

/** Of any operation: what a repeated one is known by. */
type WriteRequest = Pick<Request, 'op' | 'key' | 'body'> & {readonly params: Readonly<Record<string, string>>};

/**
 * Makes the change in the turn's commit group; with an `Idempotency-Key` once, whenever it is asked for again.
 * @param run answers JSON, or nothing
 */
export function written(request: WriteRequest, {groups}: OpenTenant, run: (writer: Writer) => string): Later {
  const guarded = guardedByKey(request, run);
  return new Later(settle => {
    groups.submit<string>({run: guarded, settle});
    return undefined;
  });
}

/** The change of a request: with an `Idempotency-Key` made once, and answered so whenever it is asked for again. */
export function guardedByKey(
  {op, params, key, body}: WriteRequest,
  run: (writer: Writer) => string,
): (writer: Writer) => string {
  if (key === null) return run;
  checkIdempotencyKey(key);
  const request = requestDigest(op, Object.values(params), body);
  const {success} = traitsOf(op);
  return writer => once(writer, {key, request, status: success}, run);
}

/** Answers nothing but that it is done. */
export function done(change: (writer: Writer) => unknown): (writer: Writer) => string {
  return writer => {
    change(writer);
    return '';
  };
}

/** As `done`, of what takes more than one write. */
export async function doneAfter(change: Promise<void>): Promise<string> {
  await change;
  return '';
}
