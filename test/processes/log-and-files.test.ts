import {readdirSync, readlinkSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const ACCESS = 'an-access-token-of-ours';
const ADMIN = 'an-admin-token-of-ours';

let service: Service;
beforeAll(async () => {
  service = await Service.start({
    spares: 1,
    args: ['--log-level', 'debug'],
    env: {
      SVC_ACCESS_TOKEN: ACCESS,
      SVC_ADMIN_TOKEN: ADMIN,
    },
  });
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {secret: 'a-secret-in-a-document'});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

describe('a worker', () => {
  test('has no file of another tenant open, nor the registry or the credentials', async () => {
    const other = await Tenant.make(service);
    await other.insert('t', {});
    const own = service.directoryOf(other.id)!;
    const worker = await service.workerOf(other.id);
    const open = readdirSync(`/proc/${worker}/fd`).flatMap(fd => {
      try {
        return [readlinkSync(`/proc/${worker}/fd/${fd}`)];
      } catch (caught) {
        if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
        return []; // closed meanwhile
      }
    });
    const ours = open.filter(path => path.startsWith(join(service.data, '')));
    expect(ours.some(path => path.startsWith(own))).toBe(true);
    expect(ours.filter(path => !path.startsWith(own) && !path.startsWith(join(service.data, 'cache')))).toEqual([]);
  });
});

describe('the log', () => {
  test('is one JSON object a line, without credentials and bodies, also for refused requests', async () => {
    await service.get('/api/tenants', {authorization: 'Bearer a-wrong-token-in-full'});
    await service.get('/api/tenants', {authorization: undefined, 'x-svc-admin-token': ADMIN});
    await service.get(`/api/tenants/none%0a%1b[31m/documents/t`);
    const lines = service.log.split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        level: expect.stringMatching(/^(debug|info|warn|error)$/),
        message: expect.any(String),
        process: expect.any(String),
      });
    }
    for (const secret of [ACCESS, ADMIN, 'a-wrong-token-in-full', 'a-secret-in-a-document', '\u001b']) {
      expect(service.log).not.toContain(secret);
    }
  });

  test('names a request as the client saw it', async () => {
    const {headers} = await service.get('/health', {'x-request-id': 'mine-1'});
    expect(headers['x-request-id']).toBe('mine-1');
    await expect.poll(() => service.log).toContain('"request":"mine-1"');
  });
});
