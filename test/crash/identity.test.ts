/** Whose file it is says the file itself: one that lies in another tenant's directory is not served. */
import {copyFileSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {APPLICATION_ID, CREATE_FUNCTION_TABLES, CREATE_TABLES} from '../../engine/storage/tables.sql.ts';
import {svc} from '../harness/command.ts';
import {nightly} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let a: Tenant;
let b: Tenant;
beforeEach(async () => {
  service = await Service.start();
  service.showLogOnFailure();
  a = await Tenant.make(service);
  b = await Tenant.make(service);
  await a.insert('t', {of: 'a'});
  await b.insert('t', {of: 'b'});
  await service.end('SIGTERM');
});
afterEach(() => service.stop());

function fileOf({id}: Tenant): string {
  return join(service.directoryOf(id)!, 'tenant.sqlite');
}

/** What the file says of whose it is. */
function identityIn(path: string): Record<string, string | number> {
  const db = new Database(path, {readonly: true});
  const rows = db
    .prepare<[], {key: string; value: string | number}>(
      "SELECT key, value FROM meta WHERE key LIKE 'tenant\\_%' ESCAPE '\\'",
    )
    .all();
  db.close();
  return Object.fromEntries(rows.map(({key, value}) => [key, value]));
}

/** A file as svc made it before files knew whose they are. */
function writeOldFile(path: string): void {
  rmSync(path);
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec(CREATE_TABLES);
  db.exec(CREATE_FUNCTION_TABLES);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma('user_version = 2');
  db.close();
}

describe("the tenant's file says whose it is", () => {
  test('id, generation, creation and a timeline that no other file has, the same after every start', async () => {
    const [ofA, ofB] = [identityIn(fileOf(a)), identityIn(fileOf(b))];
    expect(ofA).toEqual({
      tenant_id: a.id,
      tenant_generation: 1,
      tenant_created_ms: expect.any(Number),
      tenant_timeline: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(ofB).toMatchObject({tenant_id: b.id, tenant_generation: 2});
    expect(ofB.tenant_timeline).not.toBe(ofA.tenant_timeline);
    await service.run();
    await a.insert('t', {});
    await service.end('SIGTERM');
    expect(identityIn(fileOf(a))).toEqual(ofA);
  });

  nightly.test(
    "a tenant deleted and created again has a timeline of its own, and does not take the old one's file",
    async () => {
      const kept = join(service.data, 'kept.sqlite');
      copyFileSync(fileOf(a), kept);
      await service.run();
      expect((await service.request('DELETE', `/api/tenants/${a.id}`)).status).toBe(204);
      expect((await service.post('/api/tenants', {id: a.id})).status).toBe(201);
      expect(await a.list('t')).toEqual([]);
      await service.end('SIGTERM');
      expect(identityIn(fileOf(a)).tenant_timeline).not.toBe(identityIn(kept).tenant_timeline);
      copyFileSync(kept, fileOf(a));
      await service.run();
      expectError(await a.request('GET', '/documents/t'), 503, 'op.storage_damaged');
    },
  );

  test("one tenant's file copied over another's is refused, and found by svc verify", async () => {
    copyFileSync(fileOf(b), fileOf(a));
    await service.run();
    for (let attempt = 0; attempt < 8; attempt++) {
      expectError(await a.request('GET', '/documents/t'), 503, 'op.storage_damaged');
      expectError(await a.request('POST', '/documents', {table: 't', fields: {}}), 503, 'op.storage_damaged');
    }
    expect(service.log).toContain(`is that of tenant ${b.id} (generation 2)`);
    expect((await b.list('t')).map(doc => doc.of)).toEqual(['b']);
    const {code, stdout} = await svc(['verify', '--data', service.data]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${a.id}: NOT OK: .*\\n  file: it is that of tenant ${b.id} `, 'm'));
  });

  nightly.test(
    'a data directory from before: used and unused tenants are there, and what is lost later is noticed',
    async () => {
      const unused = 'unused';
      const before = new Database(join(service.data, 'registry.sqlite'));
      before.exec(`
      DROP TABLE tenants;
      CREATE TABLE tenants (
        id TEXT PRIMARY KEY, generation INTEGER NOT NULL UNIQUE, state TEXT NOT NULL CHECK (state IN ('ready', 'deleting')),
        awake INTEGER NOT NULL CHECK (awake IN (0, 1)), next_due_ms INTEGER, created_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX tenants_due ON tenants (next_due_ms) WHERE next_due_ms IS NOT NULL AND awake = 0;
      INSERT INTO tenants VALUES ('${a.id}', 1, 'ready', 0, NULL, 5), ('${b.id}', 2, 'ready', 1, NULL, 5),
        ('${unused}', 3, 'ready', 0, NULL, 5);
      UPDATE generations SET last = 3;
      PRAGMA user_version = 1;
    `);
      before.close();
      writeOldFile(fileOf(a));
      mkdirSync(join(service.data, 'tenants', `t_${unused}_3`));
      expect((await svc(['verify', '--data', service.data])).code).toBe(0);
      await service.run();
      expect((await service.get('/api/tenants')).body).toEqual({tenants: [a.id, b.id, unused]});
      expect((await b.list('t')).map(doc => doc.of)).toEqual(['b']);
      for (const each of [a, Tenant.of(service, unused)]) {
        expect(await each.list('t')).toEqual([]);
        await each.insert('t', {});
      }
      await service.end('SIGTERM');
      rmSync(fileOf(Tenant.of(service, unused)));
      await service.run();
      expectError(await service.get(`/api/tenants/${unused}/documents/t`), 503, 'op.storage_damaged');
    },
  );

  nightly.test('a file from before takes the identity of its directory, once', async () => {
    const path = fileOf(a);
    writeOldFile(path);
    await service.run();
    expect(await a.list('t')).toEqual([]);
    await a.insert('t', {of: 'a'});
    await service.end('SIGTERM');
    expect(identityIn(path)).toMatchObject({tenant_id: a.id, tenant_generation: 1});
    copyFileSync(path, fileOf(b));
    await service.run();
    expectError(await b.request('GET', '/documents/t'), 503, 'op.storage_damaged');
    expect((await a.list('t')).map(doc => doc.of)).toEqual(['a']);
  });
});
