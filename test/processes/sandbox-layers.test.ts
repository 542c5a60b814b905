/** What a worker is started with, seen from outside. A wall that this machine does not give is skipped by name, with the reason. */
import {openSync, readdirSync, readFileSync, readlinkSync} from 'node:fs';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {WORKER_DATA_BYTES_MAX, WORKER_DESCRIPTORS_MAX, WORKER_OOM_ADJUSTMENT} from '../../supervisor/limits.ts';
import {missingLayer} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const NOBODYS = '/etc/passwd';

let service: Service;
let worker: number;
beforeAll(async () => {
  service = await Service.start({descriptors: [openSync(NOBODYS, 'r')]});
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  worker = await service.workerOf(tenant.id);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const status = (pid: number, name: string) =>
  new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
const limit = (pid: number, name: string) =>
  new RegExp(`^${name} +(\\d+|unlimited) +(\\d+|unlimited)`, 'm').exec(
    readFileSync(`/proc/${pid}/limits`, 'utf8'),
  )?.[2];

describe.each(['router', 'worker'] as const)('a %s', entry => {
  test('has no capability over files, processes or the machine, and can gain none', ({skip}) => {
    const missing = missingLayer(service, 'privileges');
    skip(missing !== null, `no wall "privileges" on this machine: ${missing}`);
    const [pid] = service.children(entry);
    expect(status(pid!, 'NoNewPrivs')).toBe('1');
    const netBindService = 1n << 10n;
    const kept = entry === 'router' ? netBindService : 0n;
    expect(BigInt(`0x${status(pid!, 'CapEff')}`) & ~kept).toBe(0n);
    expect(BigInt(`0x${status(pid!, 'CapPrm')}`) & ~kept).toBe(0n);
  });

  test('has a session of its own, and no descriptor of the server’s terminal or log', () => {
    const [pid] = service.children(entry);
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
    expect({session: fields[3], terminal: fields[4]}).toEqual({session: pid, terminal: 0});
    const ours = [1, 2].map(fd => linkOf(service.pid, String(fd)));
    for (const fd of readdirSync(`/proc/${pid}/fd`)) expect(ours).not.toContain(linkOf(pid!, fd));
  });

  test('leaves no core dump, and its directory is /', ({skip}) => {
    const [pid] = service.children(entry);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    const missing = missingLayer(service, 'limits');
    skip(missing !== null, `no wall "limits" on this machine: ${missing}`);
    expect(limit(pid!, 'Max core file size')).toBe('0');
  });
});

test('a worker has limits of the kernel, and goes before others when the machine has no memory left', ({skip}) => {
  const missing = missingLayer(service, 'limits');
  skip(missing !== null, `no wall "limits" on this machine: ${missing}`);
  expect(limit(worker, 'Max data size')).toBe(String(WORKER_DATA_BYTES_MAX));
  expect(Number(limit(worker, 'Max open files'))).toBeLessThanOrEqual(WORKER_DESCRIPTORS_MAX);
  expect(readFileSync(`/proc/${worker}/oom_score_adj`, 'utf8').trim()).toBe(String(WORKER_OOM_ADJUSTMENT));
  expect(readFileSync(`/proc/${service.pid}/oom_score_adj`, 'utf8').trim()).not.toBe(String(WORKER_OOM_ADJUSTMENT));
});

test('a worker makes files that are for its user alone', () => {
  expect(status(worker, 'Umask')).toBe('0077');
});

test('metrics tell which walls stand', async () => {
  const {text} = await service.get('/metrics');
  for (const wall of ['limits', 'privileges'] as const) {
    expect(text).toContain(`svc_wall{wall="${wall}"} ${missingLayer(service, wall) === null ? 1 : 0}`);
  }
});

test('a descriptor that the server got without having asked does not reach a worker', () => {
  const links = (pid: number) => readdirSync(`/proc/${pid}/fd`).map(fd => linkOf(pid, fd));
  expect(links(service.pid)).toContain(NOBODYS);
  expect(links(worker)).not.toContain(NOBODYS);
});

function linkOf(pid: number, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return ''; // closed meanwhile
  }
}
