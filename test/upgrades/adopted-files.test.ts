/** Files of every storage version that come from a copy or another server: their definitions are those that svc makes. */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, expect, test} from 'vitest';
import {schemaFinding} from '../../engine/adopt/tenant-schema.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {fixtureVersions, numberOf, unpackFixture} from './fixture.ts';

const work = makeMemoryDirectory('svc-adopted-');
afterAll(() => rmSync(work, {recursive: true}));

test.each(rounds({commit: [1, 9, 15], nightly: fixtureVersions()}))(
  'a file of version %i can be adopted, and is migrated then',
  version => {
    const data = unpackFixture(version, join(work, String(version)), 'tenants');
    for (const tenant of ['app', 'killed']) {
      const path = join(directoryIn(data, `${tenant}-${numberOf(version)}`)!, TENANT_FILE);
      const before = new Database(path, {readonly: true});
      expect(schemaFinding(before)).toBeNull();
      before.close();
      const after = openWriter(path, false);
      expect(schemaFinding(after)).toBeNull();
      after.close();
    }
  },
);
