import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {Actor, Grant, KeyRequest} from '../../shared/ipc/keys.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import type {Scope} from '../../shared/rights.ts';
import {Keys} from '../../supervisor/keys.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-keys-'));
  path = join(folder, 'keys.sqlite');
});
afterEach(() => rmSync(folder, {recursive: true}));

const silent = {error: () => undefined, warn: () => undefined} as never;
const UNLIMITED = {tables: null, expires_at: null, rate_limit: null};

function open(at = path, told: SupervisorToRouter[] = []): Keys {
  const tellRouters = (message: SupervisorToRouter) => {
    told.push(message);
    return Promise.resolve();
  };
  const keys = new Keys({path: at, tellRouters, now: () => 1_000, log: silent});
  onTestFinished(() => keys.close());
  return keys;
}

type Made = {key: Key; secret: string};
const ask = async <T>(keys: Keys, request: KeyRequest) => (await keys.perform(request)) as T;

function create(keys: Keys, name: string, scopes: Scope[], tenant: string | null, actor: Actor = null): Promise<Made> {
  const grant: Grant = {scopes, tenants: tenant === null ? null : [tenant], ...UNLIMITED};
  return ask<Made>(keys, {action: 'key_create', actor, name, grant});
}

describe('keys that keys make', () => {
  test('know their family, also when its members end and the file is opened again', async () => {
    const keys = open();
    const first = await create(keys, 'first', ['keys', 'logs'], 'acme');
    const second = await create(keys, 'second', ['keys', 'logs'], 'acme', first.key.id);
    const third = await create(keys, 'third', ['logs'], 'acme', second.key.id);
    expect(third.key).not.toHaveProperty('family');
    await ask(keys, {action: 'key_revoke', actor: null, key: second.key.id});
    keys.close();
    const families = open()
      .records()
      .map(({name, family}) => [name, family]);
    expect(families).toEqual(
      expect.arrayContaining([
        ['first', undefined],
        ['third', first.key.id],
      ]),
    );
    expect(families).toHaveLength(2);
  });

  test('may have any name that their maker does not see, and learn of no other one', async () => {
    const keys = open();
    await create(keys, 'app', ['data:read'], null);
    const ofAcme = await create(keys, 'acme', ['keys', 'logs'], 'acme');
    const ofOther = await create(keys, 'other', ['keys', 'logs'], 'other');
    await create(keys, 'app', ['logs'], 'acme', ofAcme.key.id);
    await create(keys, 'app', ['logs'], 'other', ofOther.key.id);
    const taken = expect.objectContaining({code: 'op.conflict'});
    await expect(create(keys, 'app', ['logs'], 'acme', ofAcme.key.id)).rejects.toEqual(taken);
    await expect(create(keys, 'app', ['logs'], null)).rejects.toEqual(taken);
    const {keys: seen} = await ask<{keys: Key[]}>(keys, {action: 'key_list', actor: ofAcme.key.id});
    expect(seen.map(({name, tenants}) => [name, tenants])).toEqual([
      ['acme', ['acme']],
      ['app', ['acme']],
    ]);
  });
});
