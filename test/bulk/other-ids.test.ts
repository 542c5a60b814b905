/** Which table an id belongs to, in a tenant that holds documents of another one. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {IdFactory} from '../../engine/storage/ids.ts';
import {lineOf} from '../../worker/api/bulk/import/import-line.ts';

test('ids of another tenant are looked up, before and after the file is opened again; others say their table', () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-ids-'));
  const db = openWriter(join(directory, 'tenant.sqlite'));
  const catalog = Catalog.read(db);
  const writer = new Writer(db, catalog, Date.now);
  const ids = new IdFactory(Date.now);
  try {
    writer.table('posts');
    writer.table('users');
    const [own, foreign, dangling] = [ids.next(2), ids.next(1), ids.next(9)];
    expect(catalog.idCheck(foreign, 'posts')).toBe('ok');
    expect(catalog.idCheck(dangling, 'users')).toBe('undecodable');
    const document = {_id: foreign, _creationTime: 1, _updateTime: 1};
    const line = lineOf(1, 1, {table: null, mode: 'restore'}, {table: 'users', document});
    expect('make' in line && line.make(writer)).toBe('inserted');
    writer.counters.write();
    for (const each of [catalog, Catalog.read(db)]) {
      expect(each.idCheck(foreign, 'users')).toBe('ok');
      expect(each.idCheck(foreign, 'posts')).toEqual({table: 'users'});
      // Not there, or not there yet: nothing is known of them.
      expect([each.idCheck(own, 'users'), each.idCheck(dangling, 'posts')]).toEqual(['ok', 'ok']);
      expect(each.idCheck('mistyped', 'posts')).toBe('undecodable');
      expect(each.idCheck(ids.next(0), 'posts')).toEqual({table: '_scheduled_functions'});
    }
  } finally {
    db.close();
    rmSync(directory, {recursive: true});
  }
});
