/** A close removes the note before it empties the log, and each state on disk in between is one that opens. */
import {existsSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {findLostLog, keepLogFiles, LogNote} from '../../engine/storage/log-note.ts';
import {LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-test-note-'));
const log = join(directory, `${TENANT_FILE}-wal`);
const note = join(directory, LOGGED_FILE);
afterAll(() => rmSync(directory, {recursive: true}));

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
    () => new LogNote(directory, disk.sync).remove(),
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
