/** What an open that failed is said to be, whatever the disk is like by the time it is asked. */
import {tmpdir} from 'node:os';
import Database from 'better-sqlite3';
import {expect, test} from 'vitest';
import {openFailure} from '../../engine/storage/tenant-file.ts';

const failed = (code: string) => openFailure(new Database.SqliteError('disk I/O error', code), tmpdir());

test.each(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE'])('%s: the disk was full', code => {
  expect(failed(code)).toMatchObject({code: 'session.storage_full'});
});

test.each(['SQLITE_CORRUPT', 'SQLITE_CORRUPT_INDEX', 'SQLITE_NOTADB'])('%s: the file is damaged', code => {
  expect(failed(code)).toMatchObject({code: 'op.storage_damaged'});
});

test.each(['SQLITE_IOERR_READ', 'SQLITE_CANTOPEN'])('%s on a disk with space: neither', code => {
  expect(failed(code)).toBeInstanceOf(Database.SqliteError);
});
