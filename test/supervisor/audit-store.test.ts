import {hash} from 'node:crypto';
import {copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import type {AuditPage} from '../../shared/protocol/audit.ts';
import {AuditLog} from '../../supervisor/keys/audit-log.ts';
import {AuditStore} from '../../supervisor/keys/audit-store.ts';
import {KEYS_FILE, KeyStore} from '../../supervisor/keys/key-store.ts';
import {SmallDisk} from '../harness/small-disk.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-audit-'));
  path = join(folder, 'audit.sqlite');
});
afterEach(() => rmSync(folder, {recursive: true}));

const silent = {error: () => undefined, warn: () => undefined} as never;
const ACTION = {
  operation: 'env.set',
  tenant: 't',
  subject: {name: 'A'},
  key: null,
  key_name: 'admin',
  address: '::1',
  request_id: 'r',
};
const pageIn = (
  store: {page(after: number | null, limit: number): string},
  after: number | null = null,
  limit = 1000,
) => JSON.parse(store.page(after, limit)) as AuditPage;

/** Fails where the chain does. */
function checkChain({records, previous_sha256: start}: AuditPage): void {
  let previous = start;
  for (const {integrity_sha256: digest, ...record} of records) {
    expect(hash('sha256', `${previous}\n${JSON.stringify(record)}`)).toBe(digest);
    previous = digest;
  }
}

describe('the store of the audit log', () => {
  test('keeps so many records, and the chain of those it keeps', () => {
    const store = new AuditStore(path, 100);
    for (let i = 0; i < 250; i++) store.append([{kind: 'outcome', of: i}]);
    const page = pageIn(store);
    expect(page).toMatchObject({latest_sequence: 250, has_more: false, next_cursor: 250});
    expect(page.cursor_floor).toBeGreaterThan(149);
    expect(page.records.length).toBeLessThanOrEqual(101);
    checkChain(page);
    store.close();
    const again = new AuditStore(path, 100);
    again.append([{kind: 'outcome', of: 250}]);
    const first = pageIn(again, null, 7);
    const second = pageIn(again, first.next_cursor, 1000);
    for (const part of [first, second]) checkChain(part);
    expect(first).toMatchObject({has_more: true, next_cursor: first.cursor_floor + 6});
    expect(second.previous_sha256).toBe(first.records.at(-1)!.integrity_sha256);
    expect(second.records.at(-1)!.sequence).toBe(251);
    again.close();
  });

  test('has space for records when the disk is full, and refuses the one that has none', context => {
    const disk = new SmallDisk(8);
    onTestFinished(() => disk.remove());
    if (!disk.isMounted) context.skip();
    const store = new AuditStore(join(disk.path, 'audit.sqlite'));
    onTestFinished(() => store.close());
    const record = {kind: 'outcome', text: 'x'.repeat(500)};
    store.append([record]);
    disk.fill();
    let written = 1;
    for (; written < 1_000; written++) store.append([record]);
    expect(() => {
      for (; written < 10_000; written++) store.append([record]);
    }).toThrow(expect.objectContaining({code: 'session.storage_full'}));
    expect(pageIn(store).latest_sequence).toBe(written);
    checkChain(pageIn(store, written - 100));
    disk.makeSpace();
    store.append([record]);
  });
});

describe('the audit log', () => {
  test('writes outcomes with the next intent, or when it is read or closed', () => {
    const log = new AuditLog(path, () => 7, silent);
    expect(log.intent(ACTION)).toBe(2);
    log.outcome({of: 2, status: 204, code: null});
    expect(log.intent(ACTION)).toBe(4);
    log.outcome({of: 4, status: 400, code: 'op.invalid_input'});
    expect(pageIn(log).records.map(({kind}) => kind)).toEqual(['begun', 'intent', 'outcome', 'intent', 'outcome']);
    log.outcome({of: 4, status: null, code: null});
    log.close();
    const again = new AuditLog(path, () => 8, silent);
    expect(pageIn(again)).toMatchObject({latest_sequence: 6});
    expect(pageIn(again, 1, 1).records[0]).toMatchObject({at: 7, sequence: 2, ...ACTION});
    again.close();
  });

  test('that cannot be read is put aside as it is, and the new one says so', () => {
    const log = new AuditLog(path, () => 7, silent);
    log.intent(ACTION);
    log.close();
    writeFileSync(path, 'nonsense'.repeat(1_000));
    const fresh = new AuditLog(path, () => 9, silent);
    const [aside] = readdirSync(folder).filter(name => name.includes('sqlite.'));
    expect(readFileSync(join(folder, aside!), 'utf8')).toBe('nonsense'.repeat(1_000));
    expect(pageIn(fresh).records).toMatchObject([{kind: 'begun', reason: expect.stringContaining(aside!)}]);
    fresh.close();
  });

  test.each<[string, () => void, boolean]>([
    ['empty', () => truncateSync(path, 0), false],
    ['cut inside its header', () => truncateSync(path, 50), true],
    ['cut after its first page', () => truncateSync(path, 4_096), true],
    ['a page shorter', () => truncateSync(path, readFileSync(path).length - 4_096), true],
    ['of another kind', () => new KeyStore(path, KEYS_FILE).close(), true],
  ])(
    'that is %s lets the server start, and has a record of the next action; what there was is kept',
    (what, harm, isAside) => {
      if (what !== 'of another kind') {
        const log = new AuditLog(path, () => 7, silent);
        for (let i = 0; i < 5; i++) log.intent(ACTION);
        log.close();
      }
      harm();
      const log = new AuditLog(path, () => 9, silent);
      log.intent(ACTION);
      const page = pageIn(log);
      checkChain(page);
      expect(page.records).toMatchObject([{kind: 'begun'}, {kind: 'intent', ...ACTION}]);
      expect(readdirSync(folder).some(name => /sqlite\.\d/.test(name) && !name.endsWith('-journal'))).toBe(isAside);
      log.close();
    },
  );

  test('that is an older copy goes on from there, and does not have a head that was noted later', () => {
    const log = new AuditLog(path, () => 7, silent);
    log.intent(ACTION);
    copyFileSync(path, `${path}.older`);
    log.intent({...ACTION, operation: 'keys.revoke'});
    const noted = pageIn(log).records.at(-1)!.integrity_sha256;
    log.close();
    copyFileSync(`${path}.older`, path);
    const older = new AuditLog(path, () => 9, silent);
    for (let i = 0; i < 3; i++) older.intent(ACTION);
    const page = pageIn(older);
    checkChain(page);
    expect(page.records.map(({integrity_sha256: digest}) => digest)).not.toContain(noted);
    older.close();
  });
});
