/** A replaced tenant stays in set-aside/ for seven days, and everything else there stays. */
import {mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {removeOldSetAside} from '../../supervisor/files/old-set-aside.ts';
import {SET_ASIDE_MS} from '../../supervisor/limits.ts';

const data = mkdtempSync(join(tmpdir(), 'svc-test-set-aside-'));
afterAll(() => rmSync(data, {recursive: true}));

test('what restores replaced is removed after seven days, and nothing else', async () => {
  const now = 1_800_000_000_000;
  expect(await removeOldSetAside(data, now)).toEqual([]);
  const [old, young] = [`restored-${now - SET_ASIDE_MS - 1}-t_acme_1`, `restored-${now - SET_ASIDE_MS}-t_acme_2`];
  const others = ['t_acme_3', `restored-${now}`, 'restored-1-t_acme_4', 'registry.sqlite'];
  for (const name of [old, young, ...others]) {
    mkdirSync(join(data, 'set-aside', name), {recursive: true});
    writeFileSync(join(data, 'set-aside', name, 'tenant.sqlite'), '');
  }
  expect(await removeOldSetAside(data, now)).toEqual([old]);
  expect(readdirSync(join(data, 'set-aside')).sort()).toEqual([young, ...others].sort());
});
