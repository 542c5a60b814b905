/** What a call in a Node process may ask for, when it writes to its worker what it likes. */
import {expect, test} from 'vitest';
import type {ActionLink} from '../../../worker/runtime/actions/action-link.ts';
import type {ActionRequest} from '../../../worker/runtime/actions/action-message.ts';
import {ACTION_CALLS_MAX} from '../../../worker/runtime/guest/limits.ts';
import {NodeRun} from '../../../worker/runtime/node/node-run.ts';

test('operations under one number are no way around how many there may be', () => {
  let underWay = 0;
  const link = {
    call: () => {
      underWay++;
      return new Promise<string>(() => undefined);
    },
  } as unknown as ActionLink;
  const run = new NodeRun(1, {args: ''} as ActionRequest, link, () => undefined);
  run.begin({send: () => undefined});
  const start = (call: number) => void run.start({call, operation: 'runQuery', text: '{}'});
  for (let n = 0; n < 5 * ACTION_CALLS_MAX; n++) start(7);
  expect(underWay).toBe(1);
  for (let n = 0; n < 5 * ACTION_CALLS_MAX; n++) start(n);
  expect(underWay).toBe(2 * ACTION_CALLS_MAX);
  run.fail('over');
});
