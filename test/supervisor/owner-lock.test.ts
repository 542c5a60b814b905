import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {acquireOwnerLock, OwnerLockHeld} from '../../shared/owner-lock.ts';

let directory: string;
let path: string;
let other: ChildProcess | null = null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  path = join(directory, 'thing');
});
afterEach(() => {
  other?.kill('SIGKILL');
  rmSync(directory, {recursive: true});
});

/** Another process that owns the lock. */
async function otherOwner(): Promise<ChildProcess> {
  const module = new URL('../../shared/owner-lock.ts', import.meta.url).href;
  const code = `const {acquireOwnerLock} = await import(${JSON.stringify(module)});
    await acquireOwnerLock(${JSON.stringify(path)});
    process.send('owned');
    setInterval(() => undefined, 1e6);`;
  const flags = ['--experimental-strip-types', '--no-warnings', '--input-type=module', '-e', code];
  const child = spawn(process.execPath, flags, {stdio: ['ignore', 'inherit', 'inherit', 'ipc']});
  other = child;
  await once(child, 'message');
  return child;
}

describe('one owner at a time', () => {
  test('a second one in another process is refused and learns who the first is', async () => {
    const owner = await otherOwner();
    const refused = await acquireOwnerLock(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OwnerLockHeld);
    expect((refused as OwnerLockHeld).owner?.pid).toBe(owner.pid);
  });

  test('a second one in the same process is refused too', async () => {
    const lock = await acquireOwnerLock(path);
    await expect(acquireOwnerLock(path)).rejects.toBeInstanceOf(OwnerLockHeld);
    lock.release();
  });

  test('released, it can be taken again', async () => {
    (await acquireOwnerLock(path)).release();
    (await acquireOwnerLock(path)).release();
  });

  test('a damaged lock is named itself, and stays', async () => {
    writeFileSync(`${path}.lock`, 'garbage '.repeat(600));
    for (let i = 0; i < 2; i++) {
      await expect(acquireOwnerLock(path)).rejects.toThrow(`the lock ${path}.lock is damaged: nothing is kept in it`);
    }
  });

  test('killed, the owner leaves nothing that has to be cleared', async () => {
    const owner = await otherOwner();
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    (await acquireOwnerLock(path)).release();
  });

  test('one that waits gets it when the owner ends', async () => {
    const owner = await otherOwner();
    const waiting = acquireOwnerLock(path, {waitMs: 30_000});
    owner.kill('SIGKILL');
    (await waiting).release();
  });
});
