/** A spare opens a tenant of its own before it is ready. What goes wrong with that goes wrong for nobody. */
import {existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {describe, expect, onTestFinished, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {warmUp} from '../../worker/warm-up.ts';

function newDirectory(): {directory: string; warmUpIn: () => Promise<string[]>} {
  const parent = mkdtempSync(join(tmpdir(), 'svc-rehearsal-'));
  onTestFinished(() => rmSync(parent, {recursive: true}));
  const directory = join(parent, 'rehearsal');
  const warmUpIn = async () => {
    const said: string[] = [];
    await warmUp(directory, createLogger({}, {level: 'debug', write: line => said.push(line)}));
    return said;
  };
  return {directory, warmUpIn};
}

function countOf(directory: string, table: string): unknown {
  const db = new Database(join(directory, 'tenant.sqlite'), {readonly: true});
  const count = db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  db.close();
  return count;
}

describe('a rehearsal', () => {
  test('leaves a closed tenant for the next one, which does not grow', async () => {
    const {directory, warmUpIn} = newDirectory();
    for (let i = 0; i < 3; i++) {
      expect(await warmUpIn()).toEqual([]);
      const log = ['tenant.sqlite-shm', 'tenant.sqlite-wal'];
      expect(readdirSync(directory).sort()).toEqual(['owner.lock', 'tenant.sqlite', ...log]);
      expect(countOf(directory, 'documents')).toBe(0);
      expect(countOf(directory, 'journal')).toBe(1);
    }
  });

  test('that meets a damaged file says so in the log, removes it and is over', async () => {
    const {directory, warmUpIn} = newDirectory();
    await warmUpIn();
    writeFileSync(join(directory, 'tenant.sqlite'), 'x'.repeat(100_000));
    expect((await warmUpIn()).join()).toContain('a warm-up failed');
    expect(existsSync(directory)).toBe(false);
    expect(await warmUpIn()).toEqual([]);
  });

  test('that can write nowhere is over', async () => {
    const {directory, warmUpIn} = newDirectory();
    writeFileSync(directory, 'a file');
    expect((await warmUpIn()).join()).toContain('a warm-up failed');
  });
});
