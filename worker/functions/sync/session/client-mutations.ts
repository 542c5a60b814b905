/**
 * Runs each mutation of socket clients once. The outcome is stored in the mutation's own write, under the client's id
 * and the mutation's number, so it exists exactly if the effect does. A mutation that is sent again, after its response
 * was lost with a socket or a worker, gets the stored outcome. A failed mutation left nothing behind and runs again.
 *
 * The outcome is returned only to the user that the mutation ran for. A client with another identity by then learns
 * only that it was committed. The mutation is not run again for that user, because its effect is already there.
 *
 * A client acknowledges the mutations that it will not repeat; other outcomes are kept as long as those of an
 * `Idempotency-Key`.
 */
import {hash} from 'node:crypto';
import type {CommitGroups} from '../../../../engine/commit/group.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import {IDEMPOTENCY_EXPIRE_AT_ONCE, IDEMPOTENCY_KEEP_MS} from '../../../../engine/limits.ts';
import {reading} from '../../../../engine/storage/damage.ts';
import {checkedRowOf, LOST_REQUEST, rowChecksum} from '../../../../engine/storage/row-checksum.ts';
import {conflict, ServiceError} from '../../../../shared/errors.ts';
import {NO_LINES} from '../../../runtime/call-result.ts';
import type {Identity} from '../../auth/identity.ts';
import type {Functions, Succeeded} from '../../functions.ts';
import {CLIENT_MUTATIONS_SETTLED_AT_ONCE} from '../../limits.ts';
import type {MutationCall, MutationOutcome} from './session-calls.ts';

export type ClientMutationParts = {
  call: Functions['call'];
  writer: Writer;
  groups: CommitGroups;
};

type Found = {result: Succeeded; ts: number};
/** Digests of what makes two mutations equal, and of the user that it runs for. */
type Request = {digest: string; caller: string};

export class ClientMutations {
  readonly #parts: ClientMutationParts;

  constructor(parts: ClientMutationParts) {
    this.#parts = parts;
  }

  /**
   * @throws ServiceError when the service cannot run it now; op.conflict when its number belongs to another mutation or
   *   another user
   */
  async run(
    clientId: string,
    mutation: MutationCall,
    identity: string | null,
    requestId: string,
  ): Promise<MutationOutcome> {
    const {call, writer, groups} = this.#parts;
    const {path, args} = mutation;
    const request = {digest: hash('sha256', JSON.stringify([path, args]), 'hex'), caller: digestOfCaller(identity)};
    // The mutation has run already, so it is not validated again. The outcome found here may still be rolled back.
    if (reading(() => writer.statements.clientMutation.get(clientId, mutation.request_id)) !== undefined) {
      // Not done as a write, because a refused write would mean that nothing was done.
      await groups.settled();
      const found = reading(() => find(writer, clientId, mutation.request_id, request));
      if (found !== null) return found;
    }
    let ts = 0;
    const within = (inWrite: Writer, run: () => Succeeded): Succeeded => {
      const found = find(inWrite, clientId, mutation.request_id, request);
      ts = found?.ts ?? 0;
      if (found !== null) return found.result;
      const result = run();
      ts = inWrite.effectSequence;
      store(inWrite, clientId, mutation, request, {result, ts});
      return result;
    };
    const caller = {identity};
    return {result: await call({path, args, kind: 'mutation', origin: 'client', caller, requestId, within}), ts};
  }
}

/** One user has many tokens, so only the user counts. */
function digestOfCaller(identity: string | null): string {
  if (identity === null) return 'nobody';
  return hash('sha256', (JSON.parse(identity) as Identity).tokenIdentifier, 'hex');
}

function find({statements}: Writer, clientId: string, requestId: number, {digest, caller}: Request): Found | null {
  const row = statements.clientMutation.get(clientId, requestId);
  if (row === undefined) return null;
  checkedRowOf('client_mutations', row);
  if (row.request === LOST_REQUEST) {
    throw new ServiceError(
      'op.storage_damaged',
      'what this mutation came to is lost with a damaged file; it is not run again',
    );
  }
  // Outcomes stored by an earlier version do not name the user.
  const [storedDigest, storedCaller = caller] = row.request.split(' ');
  if (storedDigest !== digest) throw conflict(`the number ${requestId} was given to another mutation`);
  if (storedCaller !== caller) {
    throw conflict(`the mutation ${requestId} was committed for another caller, and only that caller gets its result`);
  }
  return {result: {ok: true, value: row.value, ...NO_LINES}, ts: row.sequence};
}

function store(
  writer: Writer,
  clientId: string,
  {request_id: requestId, settled_below: settledBelow}: MutationCall,
  {digest, caller}: Request,
  {result: {value}, ts}: Found,
): void {
  const {statements} = writer;
  const nowMs = writer.nowMs();
  const request = `${digest} ${caller}`;
  const row = {client_id: clientId, request_id: requestId, request, value, sequence: ts, created_ms: nowMs};
  const checksum = rowChecksum('client_mutations', row);
  statements.insertClientMutation.run(clientId, requestId, request, value, ts, nowMs, checksum);
  statements.settleClientMutations.run(clientId, settledBelow, CLIENT_MUTATIONS_SETTLED_AT_ONCE);
  statements.expireClientMutations.run(writer.ageMs - IDEMPOTENCY_KEEP_MS, IDEMPOTENCY_EXPIRE_AT_ONCE);
}
