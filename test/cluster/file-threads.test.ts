/** Orders on files, done by threads: a file that a hostile worker has made costs the others nothing but a limited time. */
import {expect, test} from 'vitest';
import type {FileOrder} from '../../cluster/standby/file-order.ts';
import {FileThreads} from '../../cluster/standby/file-threads.ts';

/** Does no order about a file `endless`, and tells others which thread they are on. */
const THREAD = new URL(
  `data:text/javascript,
  import {parentPort, threadId} from 'node:worker_threads';
  parentPort.on('message', ({path}) => {
    while (path.startsWith('endless')) {}
    parentPort.postMessage({kind: 'failed', sentence: path + ' on ' + threadId});
  });`,
);

function order(path: string, kind: 'find' | 'write_base' = 'find'): FileOrder {
  const end = new Int32Array(new SharedArrayBuffer(4));
  return kind === 'find' ? {kind, path, owner: null, end} : {kind, path, to: path, owner: null, end};
}

const TOO_LONG = {kind: 'failed', sentence: 'its file took too long'};

test.each(['find', 'write_base'] as const)(
  'an order %s that does not end fails, and those behind it are done',
  async kind => {
    const threads = new FileThreads({thread: THREAD, orderMs: 3_000});
    const answers = await Promise.all(['a', 'endless', 'b', 'c'].map(path => threads.run(order(path, kind))));
    expect(answers).toEqual([
      {kind: 'failed', sentence: expect.stringMatching(/^a on /)},
      TOO_LONG,
      {kind: 'failed', sentence: expect.stringMatching(/^b on /)},
      {kind: 'failed', sentence: expect.stringMatching(/^c on /)},
    ]);
    await threads.close();
  },
);

test('the next orders of that file are done apart from those of others', async () => {
  const threads = new FileThreads({thread: THREAD, orderMs: 3_000});
  expect(await threads.run(order('endless'))).toEqual(TOO_LONG);
  let isDone = false;
  const again = threads.run(order('endless')).finally(() => {
    isDone = true;
  });
  for (const path of ['a', 'b']) {
    expect(await threads.run(order(path))).toEqual({kind: 'failed', sentence: expect.stringContaining(`${path} on `)});
  }
  expect(isDone).toBe(false);
  await threads.close();
  expect(await again).toMatchObject({kind: 'failed'});
});
