import {readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {firstOf} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
let other: Tenant;
beforeEach(async () => {
  service = await Service.start();
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
  other = await Tenant.make(service);
  await tenant.insertAll(
    't',
    Array.from({length: 300}, (_, n) => ({n, text: 'x'.repeat(1_000)})),
  );
  await other.insert('t', {n: 1});
});
afterEach(() => service.stop());

function fileOf({id}: Tenant): string {
  return join(service.directoryOf(id)!, 'tenant.sqlite');
}

const PAGE_BYTES = 4096;

describe('a damaged file', () => {
  test('that was not closed in order is found in the background; its tenant stops, others go on', async () => {
    // Closed once, so that all is in the file; then left open by a kill.
    await service.end('SIGTERM');
    await service.run();
    await tenant.insert('t', {n: 300});
    await service.killAll();
    const bytes = readFileSync(fileOf(tenant));
    // One of documents or records, which nobody reads to open the file.
    const pages = Array.from({length: bytes.length / PAGE_BYTES}, (_, n) => n).filter(n =>
      bytes.subarray(n * PAGE_BYTES, (n + 1) * PAGE_BYTES).includes('x'.repeat(500)),
    );
    const page = pages[pages.length >> 1]!;
    writeFileSync(fileOf(tenant), bytes.fill(0xa5, page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
    await service.run();
    const reply = await until('the tenant to stop', async () => {
      const answer = await tenant.request('GET', '/schema');
      return answer.text.includes('op.storage_damaged') && answer;
    });
    expectError(reply, 503, 'op.storage_damaged');
    await until('the finding in the log', () => service.log.includes('"the file is damaged"'));
    // It does not come back by itself, so that nothing is acknowledged into a damaged file.
    expect(readFileSync(join(service.directoryOf(tenant.id)!, 'damaged.txt'), 'utf8')).not.toBe('');
    await service.end('SIGTERM');
    await service.run();
    expectError(await tenant.request('POST', '/documents', {table: 't', fields: {}}), 503, 'op.storage_damaged');
    await other.insert('t', {n: 2});
    expect(await other.list('t')).toHaveLength(2);
  });

  test('whose log has a flipped bit before acknowledged writes is refused, until somebody cuts the log there', async () => {
    await service.killAll();
    const log = `${fileOf(tenant)}-wal`;
    const bytes = readFileSync(log);
    bytes[bytes.length >> 1]! ^= 4;
    writeFileSync(log, bytes);
    await service.run();
    expectError(await tenant.request('GET', '/documents/t'), 503, 'op.storage_damaged');
    await until('the reason in the log', () => service.log.includes('does not fit its checksum, and frame '));
    expect(await other.list('t')).toHaveLength(1);
    await service.end('SIGTERM');
    // Nothing was cut, and a copy is kept whatever is done next.
    expect(readFileSync(log).equals(bytes)).toBe(true);
    expect(readFileSync(`${log}.damaged`).equals(bytes)).toBe(true);
    const {code, stdout} = await svc(['verify', '--data', service.data]);
    expect(code).toBe(1);
    const whole = Number(/its first (\d+) bytes are whole/.exec(stdout)![1]);
    truncateSync(log, whole);
    rmSync(`${fileOf(tenant)}-shm`, {force: true});
    await service.run();
    const left = await tenant.list('t');
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(300);
  });

  test.each<[string, (path: string) => void]>(
    firstOf(1, [
      ['is no database', path => writeFileSync(path, 'something else\n'.repeat(1_000))],
      ['has a damaged first page', path => writeFileSync(path, readFileSync(path).fill(0xa5, 0, 100))],
    ]),
  )('that %s keeps its tenant 503, with the reason in the log alone; others go on', async (_, damage) => {
    await service.end('SIGTERM');
    const path = fileOf(tenant);
    damage(path);
    const damaged = readFileSync(path);
    await service.run();
    const reply = await tenant.request('GET', '/documents/t');
    const {message} = expectError(reply, 503, 'op.storage_damaged');
    expect(message).not.toContain(service.data);
    await until('the reason in the log', () => service.log.includes('the tenant could not be opened'));
    // What is left of it stays as it is, for a repair.
    expect(readFileSync(path).equals(damaged)).toBe(true);
    await other.insert('t', {n: 2});
    expect((await tenant.request('DELETE', '')).status).toBe(204);
    expect(readdirSync(join(service.data, 'tenants'))).toHaveLength(1);
  });
});
