/** Of real processes: this one, a child, and what that has started, which ends with it. */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {ProcessKind} from '../../shared/process-kinds.ts';
import {ProcessUse} from '../../supervisor/processes/process-use.ts';
import {until} from '../harness/until.ts';

const WORKER = `
  import {spawn} from 'node:child_process';
  const start = script => spawn(process.execPath, [import.meta.dirname + '/' + script], {stdio: ['pipe', 'ignore', 'ignore']});
  const children = [start('isolates.js'), start('unknown.js')];
  process.on('message', () => children.forEach(child => child.kill('SIGKILL')));
`;
const MIB = 2 ** 20;

let directory: string;
let worker: ChildProcess;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-use-'));
  for (const script of ['isolates.js', 'unknown.js']) {
    writeFileSync(join(directory, script), 'process.stdin.resume();');
  }
  writeFileSync(join(directory, 'worker.mjs'), WORKER);
  worker = spawn(process.execPath, [join(directory, 'worker.mjs')], {stdio: ['ignore', 'ignore', 'inherit', 'ipc']});
});
afterAll(async () => {
  worker.kill('SIGKILL');
  if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit');
  rmSync(directory, {recursive: true});
});

test('what processes take is added up by kind, and CPU time counts once', async () => {
  const use = new ProcessUse();
  const children = new Map<number, ProcessKind>([[worker.pid!, 'worker']]);
  const cpuMs: Partial<Record<ProcessKind, number>> = {};
  const poll = async () => {
    const looked = await use.poll(children);
    for (const kind of ['supervisor', 'worker', 'isolates', 'other'] as const) {
      expect(looked[kind].cpuMs).toBeGreaterThanOrEqual(0);
      cpuMs[kind] = (cpuMs[kind] ?? 0) + looked[kind].cpuMs;
    }
    return looked;
  };
  const found = await until('the kinds of all', async () => {
    const {worker: ofWorker, isolates, other, supervisor} = await poll();
    return [ofWorker, isolates, other, supervisor].every(({residentBytes}) => residentBytes > 10 * MIB) && isolates;
  });
  await until('their CPU time', async () => {
    await poll();
    return cpuMs.isolates! > 0 && cpuMs.other! > 0 && cpuMs.worker! > 0;
  });
  const own = process.cpuUsage();
  expect(cpuMs.supervisor).toBeLessThanOrEqual((own.user + own.system) / 1_000 + 20);
  expect(found.residentBytes).toBeLessThan(1_024 * MIB);
  worker.send('end');
  await until('their end', async () => (await poll()).isolates.residentBytes === 0);
  expect((await use.poll(children)).isolates.cpuMs).toBe(0);
});
