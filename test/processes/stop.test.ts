import {existsSync, readdirSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {firstOf} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {RoutedClient} from '../harness/routed.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeEach(async () => {
  service = await Service.start({spares: 1});
  service.showLogOnFailure();
});
afterEach(() => service.stop());

/** A server that closed its port refuses connections. */
function isRefused(): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({host: '127.0.0.1', port: service.port});
    socket.on('connect', () => socket.destroy());
    socket.on('error', () => resolve(true));
    socket.on('close', () => resolve(false));
  });
}

function runDirectories(pid: number): string[] {
  return readdirSync(tmpdir()).filter(name => name.startsWith(`svc-${pid}-`));
}

/** Of a tenant that was closed. Both files of its log stay, empty, for a disk that takes no writes when it is opened next. */
const FILES = ['owner.lock', 'tenant.sqlite', 'tenant.sqlite-shm', 'tenant.sqlite-wal'];

describe('a drain', () => {
  test.each(firstOf(1, ['SIGTERM', 'SIGINT'] as const))(
    '%s ends everything in order with exit code 0',
    async signal => {
      const tenants = [await Tenant.make(service), await Tenant.make(service)];
      for (const tenant of tenants) await tenant.insert('t', {n: 1});
      const pids = service.processes();
      expect(pids.length).toBeGreaterThanOrEqual(4);
      expect(runDirectories(service.pid)).toHaveLength(1);
      expect(await service.end(signal)).toBe(0);
      expect(pids.filter(isAlive)).toEqual([]);
      expect(runDirectories(pids[0]!)).toEqual([]);
      for (const {id} of tenants) expect(readdirSync(service.directoryOf(id)!).sort()).toEqual(FILES);
      expect(existsSync(`${service.data}/svc.owner`)).toBe(false);
      expect((await svc(['verify', '--data', service.data])).code).toBe(0);
    },
  );

  test('finishes the requests that are under way', async () => {
    const tenant = await Tenant.make(service);
    const body = JSON.stringify({table: 't', fields: {marker: 'under way'}});
    const head = [
      `POST /api/tenants/${tenant.id}/documents HTTP/1.1`,
      `Host: 127.0.0.1:${service.port}`,
      `Authorization: Bearer ${service.accessToken}`,
      `Content-Length: ${body.length}`,
    ].join('\r\n');
    const socket = connect({host: '127.0.0.1', port: service.port});
    let received = '';
    socket.on('data', chunk => {
      received += String(chunk);
    });
    socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`);
    // Its router has the head once it answers what came after it.
    for (const router of service.children('router')) (await RoutedClient.of(service, router)).close();
    const ended = service.end('SIGTERM');
    await until('the port to close', isRefused);
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.write(body.slice(10));
    expect(await ended).toBe(0);
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 201 /);
    await service.run();
    expect(await tenant.list('t')).toMatchObject([{marker: 'under way'}]);
  });

  test('every acknowledged write of a load that goes on is there afterwards', async () => {
    const tenant = await Tenant.make(service);
    const acknowledged: number[] = [];
    let next = 0;
    const writer = async () => {
      for (;;) {
        const n = next++;
        const reply = await tenant.request('POST', '/documents', {table: 't', fields: {n}}).catch(() => null);
        if (reply === null) return;
        if (reply.status === 201) acknowledged.push(n);
        else expect([n, reply.status]).toEqual([n, 503]);
      }
    };
    const writers = Array.from({length: 8}, writer);
    await until('some writes', () => acknowledged.length > 100);
    expect(await service.end('SIGTERM')).toBe(0);
    await Promise.all(writers);
    await service.run();
    const stored = (await tenant.list('t')).map(doc => doc.n);
    expect(new Set(stored).size).toBe(stored.length);
    expect(acknowledged.filter(n => !stored.includes(n))).toEqual([]);
  });

  test('closes live connections', async () => {
    const socket = await Socket.established(service, await service.tenant());
    const ended = service.end('SIGTERM');
    const {code} = await socket.closed;
    expect([1001, 1005, 1006, 1012]).toContain(code);
    expect(await ended).toBe(0);
  });

  test('a second signal while draining changes nothing', async () => {
    await (await Tenant.make(service)).insert('t', {});
    const ended = service.end('SIGTERM');
    process.kill(service.pid, 'SIGTERM');
    process.kill(service.pid, 'SIGINT');
    expect(await ended).toBe(0);
  });

  test('children ignore signals of the terminal; they end when their supervisor says so', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 1});
    // A process that is just starting cannot ignore anything yet.
    await service.spareIsReady();
    const children = service.processes().slice(1);
    for (const pid of children) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(pid, signal);
    await tenant.insert('t', {n: 2});
    expect(children.filter(isAlive)).toEqual(children);
  });
});
