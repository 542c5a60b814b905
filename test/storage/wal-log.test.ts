/**
 * The log of a killed writer: opened as it is whenever the kill alone made it, and refused when something acknowledged would
 * be lost by opening it.
 */
import {spawn} from 'node:child_process';
import {cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import Database from 'better-sqlite3';
import {afterAll, describe, expect, test} from 'vitest';
import {findLogDamage} from '../../engine/storage/wal-log.ts';
import {rounds} from '../harness/nightly.ts';

const WRITER = fileURLToPath(new URL('log-writer.cjs', import.meta.url));
const KILLS = rounds({commit: 12, nightly: 100});
const FLIPS = rounds({commit: 5, nightly: 20});
const PAGE_BYTES = 4096;
const FRAME_BYTES = 24 + PAGE_BYTES;

const directory = mkdtempSync(join(tmpdir(), 'svc-test-log-'));
afterAll(() => rmSync(directory, {recursive: true}));

let seed = 7;
function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return (seed >>> 8) % below;
}

/** Runs the writer until it has printed so many commits, kills it at that moment, and tells what it printed last. */
function killedWriter(path: string, commits: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WRITER, path, String(random(2 ** 24))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    let count = 0;
    child.stdout.on('data', chunk => {
      output += String(chunk);
      count += String(chunk).split('\n').length - 1;
      if (count >= commits) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', (_, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error('the writer ended by itself'));
      resolve(Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1)));
    });
  });
}

/** What SQLite finds in a copy, so that the original stays as the kill left it. */
function newest(path: string): number {
  const copy = join(directory, 'looked-at');
  for (const end of ['', '-wal', '-shm']) rmSync(copy + end, {force: true});
  for (const end of ['', '-wal']) cpSync(path + end, copy + end);
  const db = new Database(copy);
  const found = db.prepare<[], number>('SELECT max(n) FROM t').pluck().get()!;
  const count = db.prepare<[], number>('SELECT count(*) FROM t').pluck().get();
  db.close();
  expect(count).toBe(found);
  return found;
}

/** Databases of killed writers: path, and the last number that was acknowledged. */
const killed: {path: string; acknowledged: number}[] = [];

describe('a log that a kill ended', () => {
  test(`is whole, ${KILLS} times, in the middle of whatever`, async () => {
    const path = join(directory, 'db');
    for (let kill = 0; kill < KILLS; kill++) {
      const acknowledged = await killedWriter(path, 1 + random(30));
      expect(findLogDamage(path)).toBeNull();
      expect(newest(path)).toBeGreaterThanOrEqual(acknowledged);
      if (kill % 20 !== 0) continue;
      const copy = join(directory, `killed-${kill}`);
      for (const end of ['', '-wal', '-shm']) cpSync(path + end, copy + end, {preserveTimestamps: true});
      killed.push({path: copy, acknowledged});
    }
  }, 60_000);

  test('is whole without its index, cut at any byte of what was not finished, and with anything but frames behind it', () => {
    for (const {path, acknowledged} of killed) {
      rmSync(`${path}-shm.kept`, {force: true});
      cpSync(`${path}-shm`, `${path}-shm.kept`, {preserveTimestamps: true});
      rmSync(`${path}-shm`);
      const wal = readFileSync(`${path}-wal`);
      for (const tail of [Buffer.alloc(10_000), Buffer.alloc(10_000, 0xa5), wal.subarray(24 + 32, 5_000)]) {
        writeFileSync(`${path}-wal`, Buffer.concat([wal, tail]));
        expect(findLogDamage(path)).toBeNull();
        expect(newest(path)).toBeGreaterThanOrEqual(acknowledged);
      }
      writeFileSync(`${path}-wal`, wal);
      cpSync(`${path}-shm.kept`, `${path}-shm`, {preserveTimestamps: true});
    }
  });
});

describe('a log in which a transaction was not finished', () => {
  const path = join(directory, 'unfinished');
  const copy = join(directory, 'unfinished-copy');

  /** A log whose last commit lies over frames of a larger transaction that was rolled back after they were written. */
  function commitOverLeftovers(): {before: Buffer; after: Buffer; commit: number} {
    const db = new Database(path);
    db.pragma('journal_mode = WAL');
    db.pragma('wal_autocheckpoint = 0');
    db.pragma('cache_size = 8');
    db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)');
    db.prepare('INSERT INTO t VALUES (1, ?)').run('sound');
    const sound = readFileSync(`${path}-wal`).length;
    db.exec('BEGIN');
    for (let n = 2; n < 60; n++) db.prepare('INSERT INTO t VALUES (?, ?)').run(n, 'x'.repeat(3_500));
    db.exec('ROLLBACK');
    const before = readFileSync(`${path}-wal`);
    for (const end of ['', '-shm']) cpSync(path + end, copy + end, {preserveTimestamps: true});
    db.prepare('INSERT INTO t VALUES (2, ?)').run('G'.repeat(9_000));
    const after = readFileSync(`${path}-wal`);
    db.close();
    let commit = sound;
    while (after.readUInt32BE(commit + 4) === 0) commit += FRAME_BYTES;
    expect(before.length).toBeGreaterThan(commit + 10 * FRAME_BYTES);
    expect(after.equals(before)).toBe(false);
    return {before, after, commit};
  }

  test('is whole wherever a kill ended the writing of a commit over what was left of another', () => {
    const {before, after, commit} = commitOverLeftovers();
    for (const end of [commit - FRAME_BYTES, commit, commit + 24, commit + 2_000, commit + FRAME_BYTES - 1]) {
      writeFileSync(`${copy}-wal`, Buffer.concat([after.subarray(0, end), before.subarray(end)]));
      expect(findLogDamage(copy)).toBeNull();
      expect(newest(copy)).toBe(1);
    }
    writeFileSync(`${copy}-wal`, after);
    expect(findLogDamage(copy)).toBeNull();
    expect(newest(copy)).toBe(2);
  });
});

describe('a log with one flipped bit', () => {
  test.each([
    ['and its index', true],
    ['and without its index, as after a power cut', false],
  ])('%s is refused, or nothing acknowledged is lost', (_, keepsIndex) => {
    let refused = 0;
    for (const {path, acknowledged} of killed) {
      if (!keepsIndex) rmSync(`${path}-shm`);
      const wal = readFileSync(`${path}-wal`);
      const before = newest(path);
      const places = Array.from({length: FLIPS}, () => 8 * random(wal.length) + random(8));
      // Headers are small and matter most.
      for (let i = 0; i < 12; i++)
        places.push(
          random(32 * 8),
          8 * (32 + FRAME_BYTES * random(Math.floor(wal.length / FRAME_BYTES))) + random(24 * 8),
        );
      for (const place of places) {
        wal[place >> 3]! ^= 1 << (place & 7);
        writeFileSync(`${path}-wal`, wal);
        const damage = findLogDamage(path);
        wal[place >> 3]! ^= 1 << (place & 7);
        if (damage === null) {
          expect({place, newest: newest(path)}).toEqual({place, newest: before});
        } else {
          refused++;
          expect(damage.soundBytes).toBeLessThanOrEqual(place >> 3);
        }
      }
      writeFileSync(`${path}-wal`, wal);
      expect(before).toBeGreaterThanOrEqual(acknowledged);
    }
    expect(refused).toBeGreaterThan(FLIPS);
  });
});

/** How many frames of the log count, by its index. */
function framesOf(path: string): number {
  return readFileSync(`${path}-shm`).readUInt32LE(16);
}

describe('a log that lost its end', () => {
  test('is refused as long as its index is there; cut where it says, and without the index, it opens', async () => {
    const path = join(directory, 'cut');
    let acknowledged = await killedWriter(path, 12);
    // After a checkpoint, the log starts over in a file that stays as long as it was.
    while (framesOf(path) < 8) acknowledged = await killedWriter(path, 12);
    const wal = readFileSync(`${path}-wal`);
    for (const left of [32 + (framesOf(path) >> 1) * FRAME_BYTES, 32 + 3 * FRAME_BYTES, 100, 0]) {
      truncateSync(`${path}-wal`, left);
      expect(findLogDamage(path)).not.toBeNull();
      writeFileSync(`${path}-wal`, wal);
    }
    rmSync(`${path}-wal`);
    expect(findLogDamage(path)!.finding).toContain('is missing');
    writeFileSync(`${path}-wal`, wal);
    expect(findLogDamage(path)).toBeNull();
    // As docs/operating.md says: what precedes the damage can be had.
    const bad = 32 + 2 * FRAME_BYTES + 500;
    wal[bad]! ^= 1;
    writeFileSync(`${path}-wal`, wal);
    const {soundBytes, finding} = findLogDamage(path)!;
    expect(finding).toContain(`(bytes ${32 + 2 * FRAME_BYTES} to ${31 + 3 * FRAME_BYTES})`);
    truncateSync(`${path}-wal`, soundBytes);
    rmSync(`${path}-shm`);
    expect(findLogDamage(path)).toBeNull();
    expect(acknowledged).toBeGreaterThan(0);
  });
});
