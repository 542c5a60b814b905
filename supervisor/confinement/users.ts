/**
 * Determines whether tenants can have system users of their own, and which: a range of ids that is not used elsewhere
 * on the machine. This requires root and more: a container may deny it, a user namespace may map few ids, a file system
 * may not support owners, and files that workers read may be in a directory that only root can enter. So it is probed,
 * with a file and a directory of such a user.
 *
 * The first id of the range belongs to no tenant. It is the group of all workers, which can traverse the data directory
 * without listing it.
 */
import {randomInt} from 'node:crypto';
import {chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {TENANTS_MAX} from '../limits.ts';
import {failureOf} from './layers.ts';
import {USERS_FILE, type UserRange} from './user-numbers.ts';

/**
 * Ids that no distribution assigns: between the ids of containers and those that systemd reserves for other purposes.
 */
const FREE: UserRange = {first: 1_879_048_192, last: 2_147_352_575};
/** For a user namespace with 65,536 ids. */
const SMALL: UserRange = {first: 10_000, last: 59_999};

/** Other programs may use ids of this range: only those that were given to tenants belong to this server. */
export function isShared({first, last}: UserRange): boolean {
  return first === SMALL.first && last === SMALL.last;
}

/** `none`: all tenants run as the server's user, even if the machine supports more. */
export type UsersSetting = 'auto' | 'none' | UserRange;

export type FoundUsers = {users: UserRange; missing: null} | {users: null; missing: string};

export type UsersNeed = {
  setting: UsersSetting;
  data: string;
  /** Files that workers read once they run as their user, and programs that they execute. */
  reads: readonly string[];
  runs: readonly string[];
  /** A directory that they traverse. */
  passes: string;
  /** Possible directories for their sockets: one of these is sufficient. */
  socketBases: readonly string[];
};

/** The command in front of a program that runs it as one of these users. */
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

/** Lets the group traverse the paths. If that is not sufficient, the previous permissions are restored. */
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

/** Lets all workers traverse the directory without listing it. */
export function letPass(path: string, group: number): void {
  chownSync(path, -1, group);
  chmodSync(path, 0o710);
}

/**
 * $1: a directory of the user, where something is created. $2: our file next to it, which the user must not be able to
 * read. $3: the directory to traverse. Then the programs to run, `--`, and the files to read.
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

/** Explains how to fix an unreachable path: it names the parent directory that denies access. */
function explained(failure: string, group: number): string {
  const path = /^cannot (?:reach|run|read) (\/.*)$/.exec(failure)?.[1];
  if (path === undefined) return failure;
  const closed = closedTo(group, dirname(path));
  return `users of tenants ${failure}${closed === null ? '' : `: ${closed} is closed to other users than its own`}`;
}

/**
 * The first directory on the way to a path, including the path, that this group cannot traverse; null: there is none.
 */
export function closedTo(group: number, path: string): string | null {
  const above = dirname(path) === path ? null : closedTo(group, dirname(path));
  if (above !== null) return above;
  const stat = statSync(path, {throwIfNoEntry: false});
  if (stat === undefined) return null;
  return (stat.mode & (stat.gid === group ? 0o010 : 0o001)) === 0 ? path : null;
}

/**
 * A data directory keeps its range permanently, so that its files belong to the same users at each start. A copy of a
 * data directory gets a different range, because both may be served at the same time.
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
    // Missing or incomplete: owners are corrected when tenants are opened.
    if (caught instanceof SyntaxError || (caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
}
