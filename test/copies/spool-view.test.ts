/** The copier reads a spool that the tenant's user can write: whatever is in it, the reader says so and goes on. */
import {execFileSync} from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, describe, expect, test} from 'vitest';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {decodePosition} from '../../engine/copies/position-file.ts';
import {Spool} from '../../engine/copies/spool.ts';
import {SpoolView} from '../../engine/copies/spool-view.ts';
import {QUICK_DISK, SMALL, setBytes, setOf} from './model.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-test-spool-view-'));
afterAll(() => rmSync(root, {recursive: true}));
let tenants = 0;
const SIZE = 2 ** 20;

/** A tenant's directory whose spool has a position at commit 1, and the sets of commits 2 and 3. */
function tenant(): {directory: string; spool: string; view: SpoolView} {
  const directory = join(root, String(++tenants));
  const path = join(directory, 'spool');
  mkdirSync(directory);
  const spool = new Spool(path, 2 ** 20, QUICK_DISK);
  spool.begin(setOf(SMALL, {first: 0, last: 1}).after);
  for (const n of [2, 3]) {
    spool.add(sink => {
      sink.write(setBytes(SMALL, {first: n, last: n}));
      return setOf(SMALL, {first: n, last: n}).after;
    });
  }
  return {directory, spool: path, view: SpoolView.open(directory)!};
}

test('lists what waits, in order, and opens it', () => {
  const {spool, view} = tenant();
  writeFileSync(join(spool, 'base.set'), setBytes(SMALL, {first: 0, last: 1}));
  writeFileSync(join(spool, 'next'), 'being written');
  const found = view.list();
  expect(found).toMatchObject({position: {commit: 1}, base: {name: 'base.set', last: null}, isBaseWanted: false});
  expect(found.sets.map(one => one.last)).toEqual([2, 3]);
  for (const file of [found.base!, ...found.sets]) {
    const opened = view.open(file, SIZE)!;
    expect(opened).toMatchObject({bytes: file.bytes, set: {after: {commit: file.last ?? 1}}});
    opened.close();
  }
  view.close();
});

test('requests a base and confirms a position, through links with their temporary names, which it does not follow', () => {
  const {directory, spool, view} = tenant();
  const other = join(directory, 'other');
  for (const name of ['want-base.new', 'confirmed.new', 'confirmed']) symlinkSync(other, join(spool, name));
  view.wantBase();
  expect(view.list().isBaseWanted).toBe(true);
  const {after} = setOf(SMALL, {first: 2, last: 2});
  view.confirm(after);
  expect(decodePosition(readFileSync(join(spool, 'confirmed'), 'utf8'), '')).toEqual(after);
  expect(existsSync(other)).toBe(false);
  view.close();
});

test('does not remove a directory with a temporary name, nor what is in it', () => {
  const {spool, view} = tenant();
  for (const name of ['want-base.new', 'confirmed.new']) {
    mkdirSync(join(spool, name));
    writeFileSync(join(spool, name, 'kept'), '');
  }
  expect(() => view.wantBase()).toThrow(CopyError);
  expect(() => view.confirm(setOf(SMALL, {first: 2, last: 2}).after)).toThrow(CopyError);
  expect(existsSync(join(spool, 'want-base.new', 'kept')) && existsSync(join(spool, 'confirmed.new', 'kept'))).toBe(
    true,
  );
  view.close();
});

describe('a spool that is not one', () => {
  test('is none if it is missing, a link or a file', () => {
    const {directory, spool, view} = tenant();
    view.close();
    renameSync(spool, join(directory, 'elsewhere'));
    expect(SpoolView.open(directory)).toBeNull();
    symlinkSync(join(directory, 'elsewhere'), spool);
    expect(SpoolView.open(directory)).toBeNull();
    rmSync(spool);
    writeFileSync(spool, '');
    expect(SpoolView.open(directory)).toBeNull();
    expect(SpoolView.open(join(directory, 'missing'))).toBeNull();
  });

  test('has no position if that is damaged, or says other things than a position', () => {
    const {spool, view} = tenant();
    const text = readFileSync(join(spool, 'position'), 'utf8');
    for (const content of [text.replace('"commit":1', '"commit":2'), '', 'x'.repeat(5_000)]) {
      writeFileSync(join(spool, 'position'), content);
      expect(view.list().position).toBeNull();
    }
    view.close();
  });

  test('has only regular files as sets, and refuses to open one that became something else', () => {
    const {spool, view} = tenant();
    const [second, third] = view.list().sets;
    const [secondPath, thirdPath] = [join(spool, second!.name), join(spool, third!.name)];
    rmSync(secondPath);
    expect(view.open(second!, SIZE)).toBeNull();
    symlinkSync(thirdPath, secondPath);
    expect(view.open(second!, SIZE)).toBeNull();
    rmSync(secondPath);
    execFileSync('mkfifo', [secondPath]);
    expect(() => view.open(second!, SIZE)).toThrow(CopyError);
    expect(view.list().sets).toEqual([third]);
    writeFileSync(thirdPath, setBytes(SMALL, {first: 2, last: 2}));
    expect(() => view.open(third!, SIZE)).toThrow('0000000000000003.set has the commits 2 to 2');
    writeFileSync(thirdPath, readFileSync(thirdPath).subarray(0, -1));
    expect(() => view.open(third!, SIZE)).toThrow(expect.objectContaining({code: 'damaged'}));
    view.close();
  });

  test('has no file that is larger than it can be, which is not read', () => {
    const {spool, view} = tenant();
    const [second] = view.list().sets;
    truncateSync(join(spool, second!.name), 2 ** 40);
    expect(() => view.open(second!, SIZE)).toThrow(`has ${2 ** 40} bytes, and ${SIZE} at most`);
    expect(() => view.openUnread(second!, SIZE)).toThrow(CopyError);
    view.close();
  });

  test('is refused as a whole with more entries than a worker makes', () => {
    const {spool, view} = tenant();
    for (let n = readdirSync(spool).length; n <= 4_096; n++) writeFileSync(join(spool, `x${n}`), '');
    expect(() => view.list()).toThrow(CopyError);
    view.close();
  });
});
