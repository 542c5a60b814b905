/** A file that is written again keeps its bytes, whatever is in the way. */
import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, describe, expect, test} from 'vitest';
import {REWRITE_CHUNK_BYTES} from '../../shared/limits.ts';
import {rewriteFile} from '../../shared/rewrite-file.ts';
import {SmallDisk} from '../harness/small-disk.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-test-rewrite-'));
const disk = new SmallDisk(8);
afterAll(() => {
  disk.remove();
  rmSync(directory, {recursive: true});
});

const content = Buffer.alloc(2 * REWRITE_CHUNK_BYTES + 7, 'abcdefg');

test('the file is another one with the same bytes and mode, also over what an interrupted attempt left', async () => {
  const path = join(directory, 'log');
  writeFileSync(path, content, {mode: 0o600});
  writeFileSync(`${path}.copy`, Buffer.alloc(3 * REWRITE_CHUNK_BYTES));
  const before = statSync(path);
  await rewriteFile(path);
  expect(readFileSync(path).equals(content)).toBe(true);
  expect(statSync(path).ino).not.toBe(before.ino);
  expect(statSync(path).mode).toBe(before.mode);
  expect(readdirSync(directory)).toEqual(['log']);
});

test('a file that is missing or empty stays so', async () => {
  await rewriteFile(join(directory, 'none'));
  writeFileSync(join(directory, 'log'), '');
  await rewriteFile(join(directory, 'log'));
  expect(readdirSync(directory)).toEqual(['log']);
});

describe.skipIf(!disk.isMounted)('on a full disk', () => {
  test('its bytes are written over themselves, and no copy is left', async () => {
    const path = join(disk.path, 'log');
    writeFileSync(path, content);
    disk.fill(REWRITE_CHUNK_BYTES);
    await rewriteFile(path);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(readdirSync(disk.path).sort()).toEqual(['filler', 'log']);
  });
});
