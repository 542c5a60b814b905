/**
 * Whether tenants can have users of the system of their own, and which: a range of ids that nobody else on the machine has. It takes
 * root, and more than that: a container may refuse it, a user namespace may map few ids, a file system may know no owners, and
 * what workers have to read may lie where root alone may go. So it is tried, with a file and a directory of such a user.
 *
 * The first id of the range is no tenant's: it is the group of all workers, which may pass through the data directory and see
 * nothing of it.
 */
import {randomInt} from 'node:crypto';
import {chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {TENANTS_MAX} from '../limits.ts';
import {failureOf} from './layers.ts';
import {USERS_FILE, type UserRange} from './user-numbers.ts';

/** What no distribution gives to anybody: between the ids of containers and those that systemd keeps for others. */
const FREE: UserRange = {first: 1_879_048_192, last: 2_147_352_575};
/** Where a user namespace has 65,536 ids. */
const SMALL: UserRange = {first: 10_000, last: 59_999};

/** Other programs may have ids of this range: only those that were given to tenants are this server's. */
export function isShared({first, last}: UserRange): boolean {
  return first === SMALL.first && last === SMALL.last;
}

/** `none`: tenants have the server's user, whatever the machine would give. */
export type UsersSetting = 'auto' | 'none' | UserRange;

export type FoundUsers = {users: UserRange; missing: null} | {users: null; missing: string};

export type UsersNeed = {
  setting: UsersSetting;
  data: string;
  /** Files that workers read once they have their user, and programs that they run. */
  reads: readonly string[];
  runs: readonly string[];
  /** A directory that they go through. */
  passes: string;
  /** Where their sockets may lie: one of these is enough. */
  socketBases: readonly string[];
};

/** What stands before a program to run it as one of them. */
export function asUser(id: number, group: number): string[] {
  return ['setpriv', `--reuid=${id}`, `--regid=${id}`, `--groups=${group}`, '--no-new-privs', '--inh-caps=-all', '--'];
}

export async function findUsers(need: UsersNeed): Promise<FoundUsers> {
  const {setting, data} = need;
  if (setting === 'none') return {users: null, missing: 'it is switched off (--worker-users none)'};
  if (process.geteuid?.() !== 0) return {users: null, missing: 'the server was not started as root'};
  let missing = '';
  for (const users of setting === 'auto' ? rangesFor(data) : [setting]) {
    const failure = (await unusable(users)) ?? (await triedWith(users, need));
    if (failure === null) return {users, missing: null};
    missing ||= failure;
  }
  return {users: null, missing};
}

async function unusable({first, last}: UserRange): Promise<string | null> {
  return (await failureOf([...asUser(last, first), 'true'])) ?? (await failureOf([...asUser(first, first), 'true']));
}

/** The group may pass from now on; where that is not enough, nobody may who could not before. */
async function triedWith(users: UserRange, need: UsersNeed): Promise<string | null> {
  const closed = need.socketBases.map(base => closedTo(users.first, base));
  if (!closed.includes(null))
    return `users of tenants cannot reach a directory for sockets: ${closed[0]} is closed to them`;
  const tenants = join(need.data, 'tenants');
  const ways = [need.data, tenants];
  const before = ways.map(path => statSync(path));
  try {
    for (const path of ways) letPass(path, users.first);
    const failure = await probe(users, tenants, need);
    if (failure === null) return null;
    for (const [at, path] of ways.entries()) {
      chmodSync(path, before[at]!.mode & 0o777);
      chownSync(path, before[at]!.uid, before[at]!.gid);
    }
    return failure;
  } catch (caught) {
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return caught.message;
  }
}

/** All workers may go through, and see nothing of what is there. */
export function letPass(path: string, group: number): void {
  chownSync(path, -1, group);
  chmodSync(path, 0o710);
}

/**
 * $1: a directory that is the user's, where something is made. $2: a file of ours beside it, which it must not read. $3: where it
 * passes. Then what it has to run, `--`, and what it has to read.
 */
const PROBE = `
fail() { echo "$1" >&2; exit 1; }
cat "$2" >/dev/null 2>&1 && fail "the file system of the data directory does not keep users apart"
(: >"$1/made") 2>/dev/null || fail "cannot reach $1"
(cd "$3") 2>/dev/null || fail "cannot reach $3"
shift 3
while [ "$1" != -- ]; do "$1" --version >/dev/null 2>&1 || fail "cannot run $1"; shift; done
shift
for file; do [ -r "$file" ] || fail "cannot read $file"; done
`;

async function probe({first, last}: UserRange, tenants: string, need: UsersNeed): Promise<string | null> {
  const own = join(tenants, '.probe');
  const ours = join(tenants, '.probe-file');
  try {
    mkdirSync(own, {recursive: true, mode: 0o700});
    chownSync(own, last, last);
    writeFileSync(ours, '', {mode: 0o600});
    const args = [own, ours, need.passes, ...need.runs, '--', ...need.reads];
    const failure = await failureOf([...asUser(last, first), 'sh', '-c', PROBE, 'sh', ...args]);
    return failure === null ? null : explained(failure, first);
  } finally {
    rmSync(own, {recursive: true, force: true});
    rmSync(ours, {force: true});
  }
}

/** What somebody can do about a path that is out of reach: it is a directory above it that keeps others out. */
function explained(failure: string, group: number): string {
  const path = /^cannot (?:reach|run|read) (\/.*)$/.exec(failure)?.[1];
  if (path === undefined) return failure;
  const closed = closedTo(group, dirname(path));
  return `users of tenants ${failure}${closed === null ? '' : `: ${closed} is closed to other users than its own`}`;
}

/** The first directory on the way to a path, itself included, that this group may not go through; null: there is none. */
export function closedTo(group: number, path: string): string | null {
  const above = dirname(path) === path ? null : closedTo(group, dirname(path));
  if (above !== null) return above;
  const stat = statSync(path, {throwIfNoEntry: false});
  if (stat === undefined) return null;
  return (stat.mode & (stat.gid === group ? 0o010 : 0o001)) === 0 ? path : null;
}

/**
 * A range is one data directory's for good, so that what lies on disk belongs to the same users at each start. A copy of a
 * data directory gets another one: both may be served at the same time.
 */
function rangesFor(data: string): UserRange[] {
  const path = join(data, USERS_FILE);
  const directory = String(statSync(data).ino);
  const noted = notedIn(path, directory);
  const first = noted ?? randomInt(FREE.first, FREE.last - TENANTS_MAX);
  if (noted === null) {
    writeFileSync(`${path}.tmp`, `${JSON.stringify({first, directory})}\n`, {mode: 0o600, flush: true});
    renameSync(`${path}.tmp`, path);
  }
  return [{first, last: first + TENANTS_MAX}, SMALL];
}

function notedIn(path: string, directory: string): number | null {
  try {
    const noted = JSON.parse(readFileSync(path, 'utf8')) as {first?: unknown; directory?: unknown};
    const {first} = noted;
    const isOurs = noted.directory === directory && typeof first === 'number' && Number.isSafeInteger(first);
    return isOurs && first >= FREE.first && first <= FREE.last - TENANTS_MAX ? first : null;
  } catch (caught) {
    // Missing, or not whole: owners are put right when tenants are opened.
    if (caught instanceof SyntaxError || (caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
}
