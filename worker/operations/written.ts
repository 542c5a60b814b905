/** An answer that is given once a write is on disk. */
import {checkIdempotencyKey, once, requestDigest} from '../commit/idempotency.ts';
import type {Writer} from '../commit/writer.ts';
import type {Request} from '../ipc/decode.ts';
import {NO_CONTENT, type Reply} from '../ipc/reply.ts';
import {Later} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

/** Of any operation: what a repeated one is known by. */
type WriteRequest = Pick<Request, 'op' | 'key' | 'body'> & {readonly params: Readonly<Record<string, string>>};

/** Makes the change in the turn's commit group; with an `Idempotency-Key` once, whenever it is asked for again. */
export function written(
  {op, params, key, body}: WriteRequest,
  {groups}: OpenTenant,
  run: (writer: Writer) => Reply,
): Later {
  let guarded = run;
  if (key !== null) {
    checkIdempotencyKey(key);
    const request = requestDigest(op, Object.values(params), body);
    guarded = writer => once(writer, key, request, run);
  }
  return new Later(settle => {
    groups.submit<Reply>({run: guarded, settle});
    return undefined;
  });
}

/** Answers nothing but that it is done. */
export function done(change: (writer: Writer) => unknown, status = NO_CONTENT.status): (writer: Writer) => Reply {
  return writer => {
    change(writer);
    return {status, body: ''};
  };
}

/** As `done`, of what takes more than one write. */
export async function doneAfter(change: Promise<void>): Promise<Reply> {
  await change;
  return NO_CONTENT;
}
