/**
 * A drill: code that has left its isolate and runs in a real worker, with all sandbox layers. It tries what reaches beyond its tenant, while
 * a neighbour is asked all the time: every answer of the neighbour has to be right.
 */
import {chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {missingWall} from '../harness/walls.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs in the worker of the tenant whose directory has the file `attack`. Its answers are the codes of the system's errors. */
const ATTACK = `
import {existsSync, openSync, writeFileSync, writeSync} from 'node:fs';
export function attack({directory}) {
  if (!existsSync(directory + '/attack')) return;
  const timer = setInterval(() => {
    if (process.getuid() === 0) return;
    clearInterval(timer);
    const tries = {
      terminal: () => openSync('/dev/tty', 'r+'),
      output: () => openSync('/proc/self/fd/1', 'r+'),
      go_on: () => process.kill(process.ppid, 'SIGCONT'),
      stop: () => process.kill(process.ppid, 'SIGSTOP'),
      end_group: () => process.kill(-process.ppid, 'SIGKILL'),
    };
    const answers = {};
    for (const [name, make] of Object.entries(tries)) {
      try {
        make();
        answers[name] = 'done';
      } catch (error) {
        answers[name] = error.code;
      }
    }
    console.log('svc listening on http://evil.example');
    process.stderr.write('\\u001b]0;evil\\u0007\\n' + JSON.stringify({level: 'error', message: 'evil', process: 'supervisor', tenant: 'neighbour', pid: 1}) + '\\n');
    process.stderr.write('evil flood\\n'.repeat(1_000_000), () => writeFileSync(directory + '/answers', JSON.stringify(answers)));
  }, 10);
}
`;

let base: string;
let service: Service;
let missing: string | null;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o755);
  const dist = join(base, 'dist');
  cpSync(join(ROOT, 'dist'), dist, {recursive: true});
  cpSync(join(ROOT, 'package.json'), join(base, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(base, 'node_modules'));
  const worker = join(dist, 'worker.js');
  const told =
    "process.on('message', m => { if (m.type === 'open') import('./attack.js').then(a => a.attack(m.settings)); });";
  writeFileSync(worker, `${told}\n${readFileSync(worker, 'utf8')}`);
  writeFileSync(join(dist, 'attack.js'), ATTACK);
  service = await Service.start({dist});
  missing = missingWall(service, 'users') ?? missingWall(service, 'network') ?? missingWall(service, 'privileges');
});
afterAll(async () => {
  await service.stop();
  rmSync(base, {recursive: true, force: true});
});
beforeEach(({skip}) => {
  service.showLogOnFailure();
  skip(missing !== null, `not every sandbox layer stands: ${missing}`);
});

test('a worker that was taken over reaches no terminal, no log and no other process, and its neighbour notices nothing', async () => {
  const [hostile, neighbour] = [await Tenant.make(service), await Tenant.make(service)];
  await neighbour.insert('t', {n: 1});
  const directory = service.directoryOf(hostile.id)!;
  writeFileSync(join(directory, 'attack'), '');
  const woken = hostile.insert('t', {n: 1});
  const answers = join(directory, 'answers');
  let asked = 0;
  await until('the attack to be over', async () => {
    expect(await neighbour.list('t')).toMatchObject([{n: 1}]);
    asked++;
    return existsSync(answers);
  });
  await woken;
  expect(asked).toBeGreaterThan(0);
  expect(JSON.parse(readFileSync(answers, 'utf8'))).toEqual({
    terminal: 'ENXIO',
    output: 'ENXIO',
    go_on: 'EPERM',
    stop: 'EPERM',
    end_group: expect.stringMatching(/^(?:EPERM|ESRCH)$/),
  });
  await until('the end of the flood', () => service.log.includes('lines of a child process were dropped'));
  expect(service.output.join('\n')).not.toContain('evil');
  const lines = service.log
    .split('\n')
    .slice(1, -1)
    .map(line => JSON.parse(line) as Record<string, unknown>);
  const written = lines.filter(line => JSON.stringify(line).includes('evil'));
  expect(written).not.toEqual([]);
  for (const line of written) expect(line).toMatchObject({process: 'worker', tenant: hostile.id});
  expect(service.log).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  expect(await neighbour.list('t')).toMatchObject([{n: 1}]);
});
