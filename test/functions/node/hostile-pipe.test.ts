/** A Node process that uses its pipe as no code of ours does: its worker is held up by nothing of it. */
import {mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {NODE_UNREAD_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {NODE_MAIN} from '../../../worker/runtime/node/code-directory.ts';
import {type NodeEnd, NodeProcess} from '../../../worker/runtime/node/node-process.ts';

const MIB = 1024 * 1024;
const SENT_MAX = (2 * NODE_UNREAD_BYTES_MAX) / MIB;

/** Writes a frame of these fields. */
const SAYS = `
  const {writeSync} = require('node:fs');
  const say = head => {
    const json = Buffer.from(JSON.stringify(head));
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(json.length + 4, 0);
    lengths.writeUInt32LE(json.length, 4);
    writeSync(3, Buffer.concat([lengths, json, Buffer.from('text')]));
  };
  say({type: 'ready'});`;

/** @param code in the place of ours */
function opened(code: string): {process: NodeProcess; ready: Promise<void>; ended: Promise<NodeEnd>} {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-pipe-')));
  mkdirSync(dirname(join(root, NODE_MAIN)));
  writeFileSync(join(root, 'package.json'), '{"type": "commonjs"}');
  writeFileSync(join(root, NODE_MAIN), SAYS + code);
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<NodeEnd>();
  const version = process.versions.node.split('.')[0] as '22';
  const started = new NodeProcess(
    {
      code: {version, binary: process.execPath, root},
      env: {},
      egress: {socketPath: '/x', secret: '', policy: {allow: [], deny: []}},
      parentWatch: {command: []},
    },
    {onReady: ready.resolve, onAlive: () => undefined, onMessage: () => undefined, onEnd: ended.resolve},
  );
  onTestFinished(async () => {
    started.kill({cause: 'told', message: ''});
    await ended.promise;
    rmSync(root, {recursive: true});
  });
  return {process: started, ready: ready.promise, ended: ended.promise};
}

test('one that never reads is ended before it costs its worker more than a bound', async () => {
  const {process, ready, ended} = opened('setInterval(() => undefined, 1_000);');
  await ready;
  const text = 'x'.repeat(MIB);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (let sent = 0; sent < SENT_MAX && !isOver; sent++) {
    process.send({type: 'answer', action: 1, call: 1}, text);
    await new Promise(resolve => setImmediate(resolve));
  }
  // Nothing of what follows ends one that is still there.
  process.kill({cause: 'told', message: 'by the test'});
  expect(await ended).toEqual({cause: 'crash', message: 'The Node process did not read what it asked for'});
});

test('one that says it is alive without being asked is ended: each answer costs its worker a look', async () => {
  const {ended} = opened("for (let n = 0; n < 1_000; n++) say({type: 'alive'}); setInterval(() => undefined, 1_000);");
  expect(await ended).toEqual({cause: 'crash', message: 'The Node process violated the protocol'});
});

test('one that closes its pipe and goes on is ended: nothing of it can be answered or limited any more', async () => {
  const {ended} = opened("require('node:fs').closeSync(3); setInterval(() => undefined, 1_000);");
  expect(await ended).toEqual({cause: 'crash', message: 'it closed its pipe and went on'});
});
