import {copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {crc32} from 'node:zlib';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {Actor, Grant, KeyRequest} from '../../shared/ipc/keys.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import type {Scope} from '../../shared/rights.ts';
import {Keys} from '../../supervisor/keys/keys.ts';
import {SmallDisk} from '../harness/small-disk.ts';

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
  const keys = new Keys({path: at, cluster: null, tellRouters, now: () => 1_000, log: silent});
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

describe('the file of keys', () => {
  /** Three keys, one of them rotated and one revoked, as a server left them. */
  async function written(): Promise<{bytes: Buffer; records: string[]; revoked: string}> {
    const keys = open();
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await create(keys, name, ['logs', 'keys'], 'acme'));
    await ask(keys, {action: 'key_rotate', actor: null, key: made[0]!.key.id, overlapMs: 60_000});
    await ask(keys, {action: 'key_revoke', actor: null, key: made[1]!.key.id});
    keys.close();
    return {bytes: readFileSync(path), records: recordsIn(keys), revoked: made[1]!.key.id};
  }

  const recordsIn = (keys: Keys) =>
    keys
      .records()
      .map(record => JSON.stringify(record))
      .sort();

  test('gives no key but those that were written to it, whatever bytes of it changed', async () => {
    const {bytes, records} = await written();
    // Most of the file is space for a full disk: the first pages have the keys.
    const at = fc.oneof(fc.nat(20_000), fc.nat(bytes.length - 1));
    const change = fc.record({at, byte: fc.nat(255), length: fc.constantFrom(1, 1, 2, 100, 5_000)});
    let lost = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, {minLength: 1, maxLength: 3}), async changes => {
        const hostile = Buffer.from(bytes);
        for (const {at, byte, length} of changes) hostile.fill(byte, at, Math.min(at + length, bytes.length));
        writeFileSync(path, hostile);
        rmSync(`${path}-journal`, {force: true});
        const keys = open();
        const found = recordsIn(keys);
        for (const record of found) expect(records).toContain(record);
        if (found.length < records.length) {
          lost++;
          // What is lost is reported: as a damaged record, or of the whole file.
          const told = await ask<{damaged: string[]}>(keys, {action: 'key_list', actor: null}).catch(
            (error: unknown) => error,
          );
          const isTold = told instanceof Error || (told as {damaged: string[]}).damaged.length > 0;
          expect(isTold || hostile.equals(bytes)).toBe(true);
        }
        keys.close();
      }),
      {numRuns: 150},
    );
    expect(lost).toBeGreaterThan(10);
  });

  test.each<[string, () => void]>([
    ['empty', () => truncateSync(path, 0)],
    ['cut after its first page', () => truncateSync(path, 4_096)],
    ['cut inside its header', () => truncateSync(path, 50)],
    ['a page shorter', () => truncateSync(path, readFileSync(path).length - 4_096)],
    ['something else', () => writeFileSync(path, 'keys\n'.repeat(2_000))],
    ['beside a journal that is none', () => writeFileSync(`${path}-journal`, Buffer.alloc(4_096, 7))],
  ])('that is %s lets the server start, and gives no key that was not in it', async (_, harm) => {
    const {records} = await written();
    harm();
    const keys = open();
    for (const record of recordsIn(keys)) expect(records).toContain(record);
    const answer = await create(keys, 'new', ['logs'], null).catch((error: unknown) => error);
    if (answer instanceof Error) expect(answer).toMatchObject({code: 'op.storage_damaged'});
    else expect(keys.records().map(({name}) => name)).toContain('new');
  });

  test('that is an older copy has the keys of then, those that were revoked since among them', async () => {
    const keys = open();
    const {key} = await create(keys, 'a', ['logs'], null);
    copyFileSync(path, `${path}.older`);
    const before = recordsIn(keys);
    await ask(keys, {action: 'key_revoke', actor: null, key: key.id});
    await create(keys, 'b', ['logs'], null);
    keys.close();
    copyFileSync(`${path}.older`, path);
    expect(recordsIn(open())).toEqual(before);
  });

  test('that is damaged while the server runs refuses changes, and keys go on as they are known', async () => {
    open().close();
    const db = new Database(path);
    const insert = db.prepare('INSERT INTO keys (id, record, checksum) VALUES (?, ?, ?)');
    const ids = Array.from({length: 2_000}, (_, i) => `key${String(i).padStart(9, '0')}`);
    // More than SQLite holds in memory.
    db.transaction(() => {
      for (const id of ids) {
        const secrets = [{sha256: '0'.repeat(64), created_at: 1, expires_at: null}];
        const record = {
          id,
          name: id.repeat(1_000),
          scopes: ['logs'],
          tenants: null,
          ...UNLIMITED,
          created_at: 1,
          created_by: null,
          secrets,
        };
        const text = JSON.stringify(record);
        insert.run(id, text, crc32(JSON.stringify([id, text])));
      }
    })();
    db.close();
    const keys = open();
    expect(keys.records()).toHaveLength(ids.length);
    writeFileSync(path, Buffer.alloc(readFileSync(path).length, 0x5a));
    keys.used(ids);
    let refused = 0;
    for (const key of [ids[0]!, ids[1_000]!, ids.at(-1)!]) {
      const before = keys.records();
      const answer = await keys.perform({action: 'key_revoke', actor: null, key}).catch((error: unknown) => error);
      if (!(answer instanceof Error)) continue;
      expect(answer).toMatchObject({code: 'op.storage_damaged'});
      expect(keys.records()).toEqual(before);
      refused++;
    }
    expect(refused).toBeGreaterThan(0);
  });
});

describe('on a full disk', () => {
  test('what is refused changes nothing, here or at routers, and keys can be revoked', async context => {
    const disk = new SmallDisk(4);
    onTestFinished(() => disk.remove());
    if (!disk.isMounted) context.skip();
    const told: SupervisorToRouter[] = [];
    const file = join(disk.path, 'keys.sqlite');
    const keys = open(file, told);
    disk.fill();
    let made = 0;
    let refusal: unknown;
    for (; refusal === undefined && made < 2_000; made++) {
      await create(keys, `${made} ${'x'.repeat(100)}`, ['logs'], null).catch((error: unknown) => {
        refusal = error;
      });
    }
    expect(refusal).toMatchObject({code: 'session.storage_full'});
    const before = recordsOf(keys);
    expect(before).toHaveLength(made - 1);
    expect(told).toHaveLength(made - 1);
    const [first, second] = keys.records();
    await ask(keys, {action: 'key_revoke', actor: null, key: first!.id});
    const rotated = await ask(keys, {action: 'key_rotate', actor: null, key: second!.id, overlapMs: 0}).catch(
      (error: unknown) => error,
    );
    const now = recordsOf(keys);
    if (rotated instanceof Error) expect(rotated).toMatchObject({code: 'session.storage_full'});
    expect(now).toHaveLength(made - 2);
    keys.close();
    const again = open(file);
    expect(recordsOf(again)).toEqual(now);
    again.close();
  });

  const recordsOf = (keys: Keys) =>
    keys
      .records()
      .map(record => JSON.stringify(record))
      .sort();
});
