/** Scratch directories of restores, in a place that others can use too. */
import {chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeEach, expect, test} from 'vitest';
import {withScratch} from '../../cli/restore/scratch.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-test-scratch-'));
let base: string;
let made = 0;
beforeEach(() => {
  base = join(root, String(made++));
  mkdirSync(base, {mode: 0o700});
});
afterAll(() => rmSync(root, {recursive: true}));

/** One that a process has left; it had a lock. */
function left(name: string): string {
  const directory = join(base, name);
  mkdirSync(directory, {mode: 0o700});
  for (const file of ['lock.lock', 'tenant.sqlite']) writeFileSync(join(directory, file), '');
  return directory;
}

test('one that is in use stays, in whichever process namespace its process is, and one that was left is removed', async () => {
  const dead = left('svc-restore-dead01');
  await withScratch(base, async inUse => {
    expect(existsSync(dead)).toBe(false);
    await withScratch(base, async other => expect([existsSync(inUse), other !== inUse]).toEqual([true, true]));
    expect(existsSync(inUse)).toBe(true);
  });
});

test('one that has no lock yet stays for an hour', async () => {
  const directory = left('svc-restore-young1');
  rmSync(join(directory, 'lock.lock'));
  await withScratch(base, async () => expect(existsSync(directory)).toBe(true));
  utimesSync(directory, 0, 0);
  await withScratch(base, async () => expect(existsSync(directory)).toBe(false));
});

test('one that others can write to is never removed', async () => {
  const directory = left('svc-restore-shared');
  chmodSync(directory, 0o777);
  await withScratch(base, async () => expect(existsSync(directory)).toBe(true));
});

test.skipIf(process.getuid?.() !== 0)("root removes no other user's directory", async () => {
  const directory = left('svc-restore-theirs');
  chownSync(directory, 65_534, 65_534);
  await withScratch(base, async () => expect(existsSync(directory)).toBe(true));
});
