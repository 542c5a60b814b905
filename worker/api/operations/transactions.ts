/**
 * Transactions: a limited number of operations in one commit and one journal record, all or none. They are checked and
 * run in slices, so that a long one does not delay reads; other writes wait for it.
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {dryRun} from '../../../engine/commit/attempt.ts';
import {firstReply, keepReply} from '../../../engine/commit/idempotency.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {SLICE_MS} from '../../../engine/limits.ts';
import {decodeBody, wireType} from '../../../engine/wire-type.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {TransactionEnvelope} from '../../../shared/protocol/transactions.ts';
import {causeOf} from '../../ipc/decode.ts';
import {type Handlers, onceRequestOf} from './answer.ts';
import {madeInTurn, type Step, stepOf} from './transaction-steps.ts';

const transactionBody = wireType(TransactionEnvelope);

export const transactions: Handlers<'transactions.run'> = {
  'transactions.run': (request, {groups, clock}) => {
    const {operations, dry_run: isDryRun = false} = decodeBody(transactionBody, request.body);
    // A dry run has no effect that a repeated request could find.
    const once = isDryRun ? null : onceRequestOf(request);
    const cause = causeOf(request);
    return stepsOf(operations, clock).then(
      steps =>
        new Promise<string>((resolve, reject) => {
          groups.submit<string>({
            cause,
            answersClient: true,
            *slices(writer) {
              const first = once === null ? null : firstReply(writer, once);
              if (first !== null) return first.body;
              const body = yield* isDryRun ? dryRunOf(writer, steps) : madeInTurn(writer, steps);
              if (once !== null) keepReply(writer, once, {status: 200, body});
              return body;
            },
            settle: outcome => (outcome instanceof ServiceError ? reject(outcome) : resolve(outcome)),
          });
        }),
    );
  },
};

async function stepsOf(operations: TransactionEnvelope['operations'], clock: () => number): Promise<Step[]> {
  const steps: Step[] = [];
  let ends = performance.now() + SLICE_MS;
  for (let position = 0; position < operations.length; position++) {
    steps.push(stepOf(operations, position, clock));
    if (performance.now() < ends) continue;
    await nextTurn();
    ends = performance.now() + SLICE_MS;
  }
  return steps;
}

/** A dry run: runs the steps, rolls everything back, and answers with their results. */
function* dryRunOf(writer: Writer, steps: readonly Step[]): Generator<void, string, void> {
  const takeBack = dryRun(writer);
  const body = yield* madeInTurn(writer, steps);
  takeBack();
  return body;
}
