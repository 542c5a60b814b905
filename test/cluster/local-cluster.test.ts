/** `npm run cluster`: six processes from one command, whose page kills and starts them, and which leaves none behind. */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {get, type IncomingMessage} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Shown} from '../../examples/cluster/local-cluster.ts';
import type {WriterState} from '../../examples/cluster/writers.ts';
import {freePorts} from '../harness/free-port.ts';
import {until} from '../harness/until.ts';

const PORTS = 50;
const directory = mkdtempSync(join(tmpdir(), 'svc-local-cluster-'));
let program: ChildProcess;
let page: string;
const said: string[] = [];

beforeAll(async () => {
  const first = await freePorts(PORTS);
  page = `http://127.0.0.1:${first}`;
  const main = ['--experimental-strip-types', '--no-warnings', 'examples/cluster/main.ts'];
  program = spawn(process.execPath, [...main, '--ports', `${first}`, '--directory', directory], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  program.stderr!.on('data', (text: Buffer) => said.push(text.toString()));
  createInterface(program.stdout!).on('line', line => said.push(line));
  await until('the processes to be there', () => {
    if (program.exitCode !== null) throw new Error(said.join('\n'));
    return said.some(line => line.startsWith('all processes are there'));
  });
}, 120_000);
afterAll(async () => {
  if (program.exitCode === null && program.signalCode === null) {
    program.kill('SIGTERM');
    await once(program, 'exit');
  }
  rmSync(directory, {recursive: true, force: true});
});

async function state(): Promise<Shown & {writers: WriterState[]}> {
  return (await (await fetch(`${page}/state`)).json()) as Shown & {writers: WriterState[]};
}

function press(action: string, name: string, headers: Record<string, string> = {'x-cluster-page': '1'}) {
  return fetch(`${page}/${action}?process=${encodeURIComponent(name)}`, {method: 'POST', headers});
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('it prints where the page and the hosts are, and writes are acknowledged', async () => {
  expect(said[0]).toBe(`page   ${page}`);
  expect(said.slice(1, 4)).toEqual(['a', 'b', 'c'].map(name => expect.stringMatching(`^svc ${name}  http://127`)));
  expect(await (await fetch(page)).text()).toContain('<title>svc cluster</title>');
  const {hosts, servers} = await state();
  expect([...hosts, ...servers].map(({state}) => state)).toEqual(Array(6).fill('running'));
  expect(servers.filter(({leads}) => leads).length).toBe(1);
  await until('writes', async () => (await state()).writers.every(({acknowledged}) => acknowledged > 0));
});

test('its buttons kill a process and start it again; no other page can', async () => {
  for (const name of ['nats b', 'svc c']) {
    const pidOf = async () => {
      const {hosts, servers} = await state();
      return [...hosts, ...servers].find(one => one.name === name)!;
    };
    const before = await pidOf();
    expect((await press('kill', name, {})).status).toBe(404);
    expect(isThere(before.pid!)).toBe(true);
    expect((await press('kill', name)).status).toBe(200);
    expect(isThere(before.pid!)).toBe(false);
    expect(await pidOf()).toMatchObject({state: 'killed', pid: null});
    await press('start', name);
    const after = await pidOf();
    expect(after).toMatchObject({state: 'running'});
    expect(after.pid).not.toBe(before.pid);
  }
  expect((await press('kill', 'svc z')).status).toBe(404);
  const elsewhere = get(`${page}/state`, {headers: {host: 'elsewhere.example'}});
  const [response] = (await once(elsewhere, 'response')) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(403);
});

test('when it ends, no process is left', async () => {
  const {hosts, servers} = await state();
  const pids = [...hosts, ...servers].map(({pid}) => pid!);
  program.kill('SIGTERM');
  await once(program, 'exit');
  expect(pids.filter(isThere)).toEqual([]);
});
