/** A close removes the note before it empties the log, and each state on disk in between opens; what commits check. */
import {existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {FileGuard, findLostLog, keepLogFiles} from '../../engine/storage/file-guard.ts';
import {LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-test-note-'));
const log = join(directory, `${TENANT_FILE}-wal`);
const note = join(directory, LOGGED_FILE);
afterAll(() => rmSync(directory, {recursive: true}));

const unchanged = (finding: string): never => {
  throw new Error(finding);
};

/** A disk on which a change of a directory is there or not after a power cut, unless the directory was synced since. */
class Disk {
  isNoteDurable = true;
  readonly sync = (): void => {
    this.isNoteDurable = existsSync(note);
  };

  /** What a power cut may leave of what is there now. */
  findings(): (string | null)[] {
    const isThere = existsSync(note);
    const findings: (string | null)[] = [];
    for (const isLeft of new Set([isThere, this.isNoteDurable])) {
      if (isLeft) writeFileSync(note, '');
      else rmSync(note, {force: true});
      findings.push(findLostLog(directory));
    }
    if (isThere) writeFileSync(note, '');
    else rmSync(note, {force: true});
    return findings;
  }
}

test('a power cut after any step of a close leaves no note with an empty log', () => {
  const disk = new Disk();
  writeFileSync(log, 'frames');
  writeFileSync(note, '');
  const steps = [
    () => undefined,
    () => new FileGuard(directory, unchanged, disk.sync).removeNote(),
    () => writeFileSync(log, ''),
    () => rmSync(log),
  ];
  for (const step of steps) {
    step();
    expect(disk.findings().filter(finding => finding !== null)).toEqual([]);
  }
});

test('empty files take the place of those that SQLite removed, and those that are there stay as they are', () => {
  const path = join(directory, TENANT_FILE);
  writeFileSync(path, 'file', {mode: 0o600});
  writeFileSync(`${path}-shm`, 'index');
  keepLogFiles(path);
  expect([`${path}-wal`, `${path}-shm`].map(name => statSync(name).size)).toEqual([0, 5]);
  expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
});

test.each([
  ['removed', (path: string) => rmSync(path)],
  [
    'replaced',
    (path: string) => {
      writeFileSync(`${path}.new`, 'same');
      renameSync(`${path}.new`, path);
    },
  ],
  ['cut to 0 bytes', (path: string) => writeFileSync(path, '')],
])('a commit into a file that was %s is not acknowledged', (change, make) => {
  const path = join(directory, TENANT_FILE);
  writeFileSync(path, 'same');
  rmSync(log, {force: true});
  const findings: string[] = [];
  const guard = new FileGuard(directory, finding => findings.push(finding));
  writeFileSync(log, 'frames'); // the first write creates it
  guard.committed();
  expect([findings, existsSync(note)]).toEqual([[], true]);
  make(path);
  guard.committed();
  expect(findings).toEqual([`${path} was ${change}`]);
});

test('a log that was cut is noticed before the next commit, which would make it longer again', () => {
  const path = join(directory, TENANT_FILE);
  writeFileSync(path, 'file');
  writeFileSync(log, 'frames');
  const findings: string[] = [];
  const guard = new FileGuard(directory, finding => findings.push(finding));
  guard.committed();
  guard.beforeCommit();
  expect(findings).toEqual([]);
  writeFileSync(log, 'fra');
  guard.beforeCommit();
  expect(findings).toEqual([`${log} was cut to 3 bytes`]);
});
