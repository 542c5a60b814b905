/**
 * What processes say that run code of tenants, when such code has left its isolate: random bytes, and frames that are nearly right. They cost
 * their sender its life at most, and never the worker, in which this test runs.
 */
import {copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import fc from 'fast-check';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import type {NodeVersion} from '../../shared/node-version.ts';
import {checkedFromHost} from '../../worker/control/sandbox-message.ts';
import {SandboxProcess} from '../../worker/control/sandbox-process.ts';
import {analyze} from '../../worker/runtime/analysis/analysis.ts';
import {checkedFromAnalysis} from '../../worker/runtime/analysis/analysis-message.ts';
import {checkedMessage} from '../../worker/runtime/isolate-process/checked-message.ts';
import {IsolateProcess} from '../../worker/runtime/isolate-process/isolate-process.ts';
import {NODE_MAIN} from '../../worker/runtime/node/code-directory.ts';
import {checkedFromNode} from '../../worker/runtime/node/node-message.ts';
import {NodeProcess} from '../../worker/runtime/node/node-process.ts';
import {
  analysisAnswer,
  bareFromIsolates,
  failedExecution,
  frame,
  fromHost,
  fromIsolates,
  fromNode,
  nearly,
} from './hostile-frames.ts';

const FRAMES = 1_000;
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-hostile-pipes-'));
});
afterAll(() => rmSync(directory, {recursive: true}));

/** A script that writes these bytes to its pipe. @param stays whether it waits then, or ends */
function script(bytes: Buffer, stays: boolean): string {
  const path = join(directory, 'main.cjs');
  writeFileSync(
    path,
    `const bytes = Buffer.from('${bytes.toString('base64')}', 'base64');
    for (let at = 0; at < bytes.length; ) {
      try { at += require('node:fs').writeSync(3, bytes, at); } catch (e) { if (e.code !== 'EAGAIN') process.exit(1); }
    }
    if (${stays}) setInterval(() => {}, 1_000);`,
  );
  return path;
}

const junk = fc.uint8Array({minLength: 8, maxLength: 40}).map(bytes => Buffer.from(bytes));
const noJson = fc.tuple(fc.string(), fc.string()).map(([head, tail]) => frame(`${head}{`, tail));
const torn = fc.nat(200).map(length => Buffer.concat([frame('{}', 'x').subarray(0, 4), Buffer.alloc(length, 255)]));
const huge = fc.constant(Buffer.from([255, 255, 255, 255, 1, 0, 0, 0, 1]));
const hostileBytes = fc.oneof(junk, noJson, torn, huge);

/** @param rights one message of each type, as a process of ours says it */
function checks(
  check: (head: Record<string, unknown>, tail: Buffer) => unknown,
  rights: Record<string, unknown>[],
  tail = '',
): void {
  for (const right of rights) expect(check(right, Buffer.from(tail)), JSON.stringify(right)).not.toBeNull();
  const tails = fc.oneof(fc.constant(tail), fc.string());
  fc.assert(
    fc.property(nearly(rights), tails, (head, said) => {
      const message = check(head, Buffer.from(said));
      expect(message === null || typeof message === 'object').toBe(true);
    }),
    {numRuns: FRAMES},
  );
}

/** @param start of one process, with this script as its code. @returns how it ended */
async function endsOnlyItself(start: (main: string) => Promise<string>, malformed: string): Promise<void> {
  expect(await start(script(Buffer.from('this is no JSON\n'), true))).toContain(malformed);
  // What begins a frame and does not end it is waited for.
  for (const said of fc.sample(hostileBytes, 3)) expect(await start(script(said, false))).not.toBe('');
}

describe('the process of sandboxes', () => {
  const ended = {lines: ['a'], durationMs: 1, broken: null};
  const failed = failedExecution;
  const log = createLogger({}, {write: () => undefined});
  const started = (main: string) =>
    new Promise<string>(resolve => {
      new SandboxProcess({parentWatch: {command: []}, log, broken: () => undefined, ended: resolve}, main);
    });

  test('messages', () => {
    checks(checkedFromHost, fromHost(), '1');
    for (const wrong of [
      {...failed, reason: 'well'},
      {...failed, lines: [1]},
      {...failed, stack: 1},
      {...ended, ok: 1},
    ])
      expect(checkedFromHost({type: 'executed', execution: 1, result: wrong}, Buffer.from('1'))).toBeNull();
    expect(
      checkedFromHost({type: 'executed', execution: 1, result: {...ended, ok: true}}, Buffer.from('{')),
    ).toBeNull();
  });

  test('bytes', () => endsOnlyItself(started, 'it said what it never says'));
});

describe('the process that analyses a deployment', () => {
  const answer = analysisAnswer;
  const {upload, manifest, files} = answer;
  const file = files[0]!;
  const {node} = upload;
  const validator = manifest.functions[0]!.args;
  const refused = {ok: false, code: 'op.invalid_input', message: 'm', detail: {errors: []}};
  const checked = (said: unknown) => checkedFromAnalysis({type: 'analyzed'}, Buffer.from(JSON.stringify(said)));

  test('messages', () => {
    expect([checked(answer), checked(refused)]).not.toContain(null);
    const parts = [upload, manifest, node, file, ...manifest.functions, validator].map(part => nearly([part]));
    const forged = fc.tuple(...parts).map(([facts, found, inNode, one, entry, document]) => ({
      ...answer,
      upload: {...facts, node: inNode},
      manifest: {...found, functions: [entry], schema: {tables: [{name: 't', document, indexes: []}]}},
      files: [one],
    }));
    const any = fc.oneof(forged, nearly([answer, refused]), fc.jsonValue());
    fc.assert(
      fc.property(any, said => {
        const message = checked(said);
        expect(message === null || message.type === 'analyzed').toBe(true);
      }),
      {numRuns: FRAMES},
    );
    checks(checkedFromAnalysis, [{type: 'file', sourceBytes: 1}], 'ab');
  });

  test.each([
    ['outside of its directory', {...answer, files: [{...file, path: '../../damaged.txt'}]}],
    ['for Node, and is none of the bundle', {...answer, upload: {...upload, node: {...node, files: ['b.js']}}}],
    [
      'of a package outside of its directory',
      {
        ...answer,
        upload: {...upload, node: {...node, packages: [{path: '../x', version: '1', sha512: '0'.repeat(128)}]}},
      },
    ],
  ])('a file %s is not taken', (_, said) => expect(checked(said)).toBeNull());

  test('what is nested too deep to be checked is not taken', () => {
    const deep = `${'{"type":"array","value":'.repeat(100_000)}{"type":"any"}${'}'.repeat(100_000)}`;
    const said = JSON.stringify(answer).replace(JSON.stringify(validator), deep);
    expect(checkedFromAnalysis({type: 'analyzed'}, Buffer.from(said))).toBeNull();
  });

  test('bytes', async () => {
    const started = (main: string) =>
      analyze(Buffer.from('{}'), {seed: '', env: {}}, {main}).then(
        () => 'it was believed',
        (error: Error) => `${error.message}: ${(error.cause as Error).message}`,
      );
    await endsOnlyItself(started, 'the upload could not be looked at: the analysis ended: it said what it never says');
  });
});

describe('the process of isolates', () => {
  const check = (head: Record<string, unknown>, tail: Buffer) => checkedMessage(head, tail.length);

  test('messages', () => {
    checks(check, bareFromIsolates);
    checks(check, fromIsolates, '1');
  });

  test('bytes', async () => {
    const started = (main: string) =>
      new Promise<string>(resolve => {
        const process = new IsolateProcess({parentWatch: [], main});
        process.open({databasePath: '/', headSequence: () => 0, onEnd: ({cause}) => resolve(cause)});
      });
    await endsOnlyItself(started, 'malformed');
  });
});

describe('a Node process', () => {
  test('messages', () => {
    checks(checkedFromNode, fromNode(), '1');
    for (const wrong of [{fault: 'well'}, {action: -1}, {action: '1'}])
      expect(checkedFromNode({type: 'executed', action: 1, fault: null, ...wrong}, Buffer.from('1'))).toBeNull();
  });

  test('bytes', async () => {
    mkdirSync(join(directory, dirname(NODE_MAIN)));
    writeFileSync(join(directory, 'package.json'), '{"type": "commonjs"}');
    const version = process.versions.node.split('.')[0] as NodeVersion;
    const started = (main: string) =>
      new Promise<string>(resolve => {
        copyFileSync(main, join(directory, NODE_MAIN));
        const code = {version, binary: process.execPath, root: `${realpathSync(directory)}/`};
        const events = {onReady: () => undefined, onAlive: () => undefined, onMessage: () => undefined};
        new NodeProcess(
          {code, env: {}, egress: null, parentWatch: {command: []}},
          {...events, onEnd: ({message}) => resolve(message)},
        );
      });
    await endsOnlyItself(started, 'The Node process violated the protocol');
  });
});
