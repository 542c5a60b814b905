/** Whose files are on disk: root alone can give them away, so that these run as root, and are skipped by name elsewhere. */
import {spawn} from 'node:child_process';
import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {endAllOf, isAnyLeft} from '../../supervisor/confinement/leftovers.ts';
import {giveTo} from '../../supervisor/confinement/ownership.ts';
import {TENANT_DIRECTORY_ENTRIES_MAX} from '../../supervisor/limits.ts';
import {NoUser, TenantUsers} from '../../supervisor/tenants/tenant-users.ts';
import {until} from '../harness/until.ts';

const [FIRST, ID, OTHER] = [1_900_000_000, 1_900_000_001, 1_900_000_002];
const log = createLogger({}, {write: () => undefined});

let root: string;
let outside: string;
beforeEach(({skip}) => {
  skip(process.geteuid?.() !== 0, 'only root can give files to other users');
  root = join(mkdtempSync(join(tmpdir(), 'svc-test-')), 'tenants');
  mkdirSync(root);
  outside = mkdtempSync(join(tmpdir(), 'svc-test-'));
});
afterEach(() => {
  for (const path of [dirname(root), outside]) rmSync(path, {recursive: true, force: true});
});

/** A tenant's directory as a worker fills it. */
function filled(name: string): string {
  const directory = join(root, name);
  mkdirSync(join(directory, 'node', 'code'), {recursive: true});
  for (const file of ['tenant.sqlite', 'tenant.sqlite-wal', 'node/code/main.js'])
    writeFileSync(join(directory, file), '');
  return directory;
}

function ownersOf(directory: string): number[] {
  const paths = readdirSync(directory, {recursive: true}) as string[];
  return ['.', ...paths].map(path => lstatSync(join(directory, path)).uid);
}

describe('a directory is given to a user', () => {
  test('with all that is in it', () => {
    const directory = filled('t_a_1');
    expect(giveTo(directory, ID)).toEqual([]);
    expect(new Set(ownersOf(directory))).toEqual(new Set([ID]));
  });

  test('also under names that are not UTF-8', () => {
    const directory = filled('t_a_1');
    const name = Buffer.from([0xff, 0xfe]);
    const within = (above: Buffer | string) => Buffer.concat([Buffer.from(above), Buffer.from('/'), name]);
    const inner = within(directory);
    mkdirSync(inner);
    writeFileSync(within(inner), '');
    expect(giveTo(directory, ID)).toEqual([]);
    for (const path of [directory, inner, within(inner)]) expect(lstatSync(path).uid).toBe(ID);
  });

  test('itself last: after a kill at any moment in between it is given again', () => {
    const directory = filled('t_a_1');
    giveTo(directory, ID);
    // As a kill leaves it that came while it was given to another one.
    chownSync(join(directory, 'tenant.sqlite'), OTHER, OTHER);
    chownSync(join(directory, 'node', 'code', 'main.js'), OTHER, OTHER);
    giveTo(directory, OTHER);
    expect(new Set(ownersOf(directory))).toEqual(new Set([OTHER]));
  });

  test('and what was put into it since, as root does that restores a file', () => {
    const directory = filled('t_a_1');
    giveTo(directory, ID);
    writeFileSync(join(directory, 'restored'), '');
    mkdirSync(join(directory, 'copied', 'deep'), {recursive: true});
    giveTo(directory, ID);
    expect(new Set(ownersOf(directory))).toEqual(new Set([ID]));
  });

  test('but not where a link of it points to', () => {
    const directory = filled('t_a_1');
    writeFileSync(join(outside, 'shadow'), '');
    symlinkSync(join(outside, 'shadow'), join(directory, 'link'));
    symlinkSync(outside, join(directory, 'node', 'link'));
    giveTo(directory, ID);
    expect(ownersOf(outside)).toEqual([0, 0]);
  });

  test('but not with more entries than svc makes: looking at millions would keep other tenants waiting', () => {
    const directory = filled('t_a_1');
    const users = new TenantUsers({first: FIRST, last: OTHER}, root, log);
    users.own(directory);
    const had = readdirSync(directory).length;
    for (let n = had; n < TENANT_DIRECTORY_ENTRIES_MAX; n++) writeFileSync(join(directory, `more-${n}`), '');
    users.own(directory);
    writeFileSync(join(directory, 'one-more'), '');
    expect(() => users.own(directory)).toThrow(NoUser);
    expect(() => users.own(directory)).toThrow(/more than 1000 entries/);
    rmSync(join(directory, 'one-more'));
    users.own(directory);
  });

  test('but not a file that has another name elsewhere, which is reported', () => {
    const directory = filled('t_a_1');
    writeFileSync(join(outside, 'shadow'), '');
    linkSync(join(outside, 'shadow'), join(directory, 'node', 'hard'));
    expect(giveTo(directory, ID)).toEqual([join(directory, 'node', 'hard')]);
    expect(ownersOf(outside)).toEqual([0, 0]);
  });
});

describe('users of tenants', () => {
  const users = (last = FIRST + 10) => new TenantUsers({first: FIRST, last}, root, log);

  test('no two have the same, and none has the group of all', () => {
    const all = users();
    const ids = ['t_a_1', 't_b_2', 't_c_3'].map(name => all.own(filled(name))!);
    expect(new Set(ids.map(({id}) => id)).size).toBe(3);
    for (const {id, group} of ids) {
      expect(group).toBe(FIRST);
      expect(id).toBeGreaterThan(FIRST);
    }
  });

  test('each keeps its own over a start', () => {
    const [a, b] = [filled('t_a_1'), filled('t_b_2')];
    const before = users();
    const given = [before.own(b), before.own(a)];
    const after = users();
    expect([after.own(b), after.own(a)]).toEqual(given);
  });

  test('of two directories with the same owner, as a copy by hand leaves them, one gets another', () => {
    const [a, b] = [filled('t_a_1'), filled('t_b_2')];
    for (const directory of [a, b]) giveTo(directory, ID);
    const all = users();
    expect(all.own(a)!.id).not.toBe(all.own(b)!.id);
    expect(new Set(ownersOf(b))).toEqual(new Set([all.own(b)!.id]));
  });

  test('the number of a deleted tenant is free, and no number is given twice before', () => {
    const all = users(FIRST + 2);
    const [a, b] = [all.own(filled('t_a_1'))!, all.own(filled('t_b_2'))!];
    expect(() => all.own(filled('t_c_3'))).toThrow(NoUser);
    all.forget(join(root, 't_a_1'));
    expect(all.own(join(root, 't_c_3'))!.id).toBe(a.id);
    expect(all.own(join(root, 't_b_2'))).toEqual(b);
  });

  test('the number of a deleted tenant comes round after all the others, also over starts', () => {
    const a = users().own(filled('t_a_1'))!;
    rmSync(join(root, 't_a_1'), {recursive: true});
    expect(users(FIRST + 1000).own(filled('t_b_2'))!.id).toBeGreaterThan(a.id);
  });

  test('a tenant of which something is left keeps its number', () => {
    const all = users(FIRST + 1);
    all.own(filled('t_a_1'));
    renameSync(join(root, 't_a_1'), join(root, 'd_a_1'));
    all.forget(join(root, 't_a_1'));
    expect(() => all.own(filled('t_b_2'))).toThrow(NoUser);
  });

  test("a user of which something runs is no tenant's, nor its own", async () => {
    const all = users(FIRST + 1);
    const directory = filled('t_a_1');
    const {id} = all.own(directory)!;
    const args = [`--reuid=${id}`, '--clear-groups', '--', 'sleep', '1000'];
    const child = spawn('setpriv', args, {stdio: 'ignore'});
    await until('its user', () => isAnyLeft(uid => uid === id));
    all.unended(id);
    expect(() => all.own(directory)).toThrow(NoUser);
    rmSync(directory, {recursive: true});
    all.forget(directory);
    expect(() => all.own(filled('t_b_2'))).toThrow(NoUser);
    expect(await endAllOf(uid => uid === id)).toEqual({ended: [child.pid], left: []});
    expect(all.own(join(root, 't_b_2'))).toMatchObject({id});
  });

  test('a start ends what runs with a user it gave, and in a range that others use nothing else', async () => {
    const shared = {first: 10_000, last: 59_999};
    const {id} = new TenantUsers(shared, root, log).own(filled('t_a_1'))!;
    const [tenants, others] = [id, shared.last].map(uid =>
      spawn('setpriv', [`--reuid=${uid}`, '--clear-groups', '--', 'sleep', '1000'], {stdio: 'ignore'}),
    );
    try {
      await until('both users', () => [id, shared.last].every(wanted => isAnyLeft(uid => uid === wanted)));
      await new TenantUsers(shared, root, log).endLeftovers();
      expect(isAnyLeft(uid => uid === id)).toBe(false);
      expect(isAnyLeft(uid => uid === shared.last)).toBe(true);
    } finally {
      for (const child of [tenants, others]) child!.kill('SIGKILL');
    }
  });

  test("where tenants have none of their own, what had one is the server's again", () => {
    const directory = filled('t_a_1');
    users().own(directory);
    expect(new TenantUsers(null, root, log).own(directory)).toBeNull();
    expect(new Set(ownersOf(directory))).toEqual(new Set([0]));
  });
});
