import {readFileSync} from 'node:fs';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const SECRETS = {
  SVC_ACCESS_TOKEN: 'an-access-token-of-ours',
  SVC_ADMIN_TOKEN: 'an-admin-token-of-ours',
  DATABASE_PASSWORD: 'a-secret-of-another-program',
};

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1, env: {...SECRETS, TZ: 'UTC'}});
  await (await Tenant.make(service)).insert('t', {n: 1});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

/** A process as others of this machine may see it. */
function seen(pid: number, file: 'environ' | 'cmdline'): string[] {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').filter(Boolean);
}

describe.each(['router', 'worker'] as const)('the %s', entry => {
  test('gets a scrubbed environment: what the platform needs and its own settings', () => {
    const pids = service.children(entry);
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) {
      const names = seen(pid, 'environ').map(line => line.slice(0, line.indexOf('=')));
      expect(names).toEqual(expect.arrayContaining(['PATH', 'TZ']));
      const allowed = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'SVC_LOG_LEVEL', 'SVC_LOG_FORMAT'];
      // Where it finds versions of Node.
      if (entry === 'worker') allowed.push('SVC_NODE_DIRECTORY');
      expect(names.filter(name => !allowed.includes(name) && !name.startsWith('NODE_'))).toEqual([]);
    }
  });

  test('shows no credential in its environment or command line', () => {
    for (const pid of service.children(entry)) {
      const text = [...seen(pid, 'environ'), ...seen(pid, 'cmdline')].join('\n');
      for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret);
    }
  });
});

test('no credential is logged', () => {
  for (const secret of Object.values(SECRETS)) expect(service.log).not.toContain(secret);
});
