/**
 * The run directory: where workers listen, readable by this user alone. Where tenants have users of their own, each worker has a
 * directory in it for its socket, which others do not get through: routers by its group, the worker as its owner. The egress
 * process has a directory for each worker always. Socket names are short and numbered, because an
 * operating system cuts a longer path silently and two workers would then share one.
 *
 * XDG_RUNTIME_DIR set to nothing is as if it were not set, as its specification says.
 *
 * The name holds the process id of its supervisor, so that what a killed one left behind is found and removed. Whatever else
 * tidies temporary folders may remove it, too, while the server runs: it is made again then, or another one.
 */
import {chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {assert} from '../../shared/assert.ts';
import type {WorkerUser} from '../../shared/ipc/control.ts';
import {EGRESS_PATH_CHARS, SOCKET_LOOK_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {ensurePrivateDirectory, isPrivateDirectory} from '../../shared/private-directory.ts';
import {closedTo, letPass} from '../confinement/users.ts';
import {SOCKET_PATH_BYTES_MAX} from '../limits.ts';
import {StartError} from './start-error.ts';
import {removeTree} from './tenant-files.ts';

const NAME = /^svc-(\d+)-\w+$/;
/** Room for the largest number a socket can have, and for the longest name below it: that of a data connection. */
const SOCKET_NAME_CHARS_MAX = `d${Number.MAX_SAFE_INTEGER}/`.length + EGRESS_PATH_CHARS;
/** Of a directory with a socket in it. */
type Owner = {uid: number; gid: number};

/** The owner may do anything, the group go through. */
const PASSED_MODE = 0o710;

export class RunDirectory {
  readonly #log: Logger;
  /** Of all workers; null: they have our user. */
  readonly #group: number | null;
  #path: string;
  #sockets = 0;
  /** It is not there, and none could be made: said once. */
  #isLost = false;
  /** Of workers that live. */
  readonly #own = new Map<string, Owner>();
  readonly #timer: NodeJS.Timeout | null;

  /** @throws StartError */
  constructor(log: Logger, group: number | null) {
    this.#log = log;
    this.#group = group;
    const [base, ...others] = runBases();
    // Workers with users of their own have to go through what is above it.
    this.#path = this.#make(
      (group === null ? null : [base, ...others].find(path => closedTo(group, path) === null)) ?? base,
    );
    this.#timer = group === null ? null : setInterval(() => this.#look(), SOCKET_LOOK_MS).unref();
  }

  get path(): string {
    return this.#path;
  }

  /** A socket path that no worker of this server had before. */
  nextSocketPath(user: WorkerUser | null): string {
    // The group is the routers'.
    return this.#next('w', user === null ? null : {uid: user.id, gid: process.getegid!()});
  }

  /**
   * Where a worker finds its way out, in a directory of its own, in which its data connections are, too: the group is the
   * tenant's, so other users cannot reach them. A worker goes there, and changes nothing: who listens has the server's rights,
   * and would use them on what a worker put in its way.
   */
  nextDoorPath(user: WorkerUser | null): string {
    return this.#next('d', {uid: process.geteuid!(), gid: user?.id ?? process.getegid!()});
  }

  #next(kind: 'w' | 'd', owner: Owner | null): string {
    this.#look();
    this.#sockets++;
    const path = join(this.#path, `${kind}${this.#sockets}`, ...(owner === null ? [] : ['s']));
    assert(Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX, 'a socket path fits what the system keeps of it');
    if (owner !== null) {
      this.#own.set(dirname(path), owner);
      this.#makeOwn(dirname(path), owner);
    }
    return path;
  }

  /** The worker that listened there has ended. */
  forget(socketPath: string): void {
    const directory = dirname(socketPath);
    if (!this.#own.delete(directory)) return;
    void this.#remove(directory);
  }

  /** As the process exits. */
  remove(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (!isPrivateDirectory(this.#path, this.#mode)) return;
    try {
      rmSync(this.#path, {recursive: true, force: true});
    } catch (error) {
      this.#log.warn('the next start removes the run directory', {path: this.#path, error});
    }
  }

  /** Directories of supervisors that were killed. None of their workers may run any more. What fails is logged: nothing waits for it. */
  async removeStale(): Promise<void> {
    const base = dirname(this.#path);
    try {
      for (const path of staleIn(base)) await this.#remove(path);
    } catch (error) {
      this.#log.error('run directories of earlier servers cannot be looked for', {path: base, error});
    }
  }

  /** What the user of a worker put there may be millions of files, or deeper than a path is long. */
  async #remove(path: string): Promise<void> {
    try {
      await removeTree(path);
    } catch (error) {
      this.#log.error('a directory of sockets cannot be removed', {path, error});
    }
  }

  get #mode(): number {
    return this.#group === null ? 0o700 : PASSED_MODE;
  }

  #make(base: string): string {
    const path = makeIn(base);
    if (this.#group !== null) letPass(path, this.#group);
    return path;
  }

  /** Whether it is still there. Workers with users of their own cannot make what they listen in. */
  #look(): void {
    if (!isPrivateDirectory(this.#path, this.#mode) || !letsPass(this.#path, this.#group)) this.#renew();
    for (const [path, owner] of this.#own) {
      // Under a path that is something else's by now there is nothing to be made.
      const isHere = dirname(path) === this.#path;
      if (isHere && lstatSync(path, {throwIfNoEntry: false}) === undefined) this.#makeOwn(path, owner);
    }
  }

  /** A directory that cannot be made is one that the worker cannot listen in, as it says then. */
  #makeOwn(path: string, {uid, gid}: Owner): void {
    try {
      mkdirSync(path, {mode: PASSED_MODE});
      chmodSync(path, PASSED_MODE);
      chownSync(path, uid, gid);
    } catch (error) {
      this.#log.error('the directory of a socket cannot be made', {path, error});
    }
  }

  /** Under its old name, which workers that are awake look at. When that cannot be had: under another, where one can be. */
  #renew(): void {
    const lost = this.#path;
    try {
      if (!ensurePrivateDirectory(lost)) this.#path = this.#make(tmpdir());
      else if (this.#group !== null) letPass(lost, this.#group);
      this.#isLost = false;
      this.#log.warn('the run directory was removed; it is made again', {lost, path: this.#path});
    } catch (error) {
      // Those awake are served; a worker that is started now says that it cannot listen.
      if (!this.#isLost) this.#log.error('the run directory was removed, and none can be made', {lost, error});
      this.#isLost = true;
    }
  }
}

/** Whoever makes it again may make it as narrow as our own directories are. */
function letsPass(path: string, group: number | null): boolean {
  if (group === null) return true;
  const stat = lstatSync(path, {throwIfNoEntry: false});
  return stat === undefined || (stat.gid === group && (stat.mode & 0o777) === PASSED_MODE);
}

/** Where it may be, the best first. */
export function runBases(): [string, ...string[]] {
  return [process.env.XDG_RUNTIME_DIR || tmpdir(), tmpdir()];
}

/** @throws StartError */
function makeIn(base: string): string {
  let path: string;
  try {
    path = mkdtempSync(join(base, `svc-${process.pid}-`));
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new StartError(`no run directory can be made in ${base} ($XDG_RUNTIME_DIR or $TMPDIR): ${reason}`, {cause});
  }
  if (Buffer.byteLength(path) + 1 + SOCKET_NAME_CHARS_MAX > SOCKET_PATH_BYTES_MAX) {
    rmSync(path, {recursive: true});
    throw new StartError(`the run directory ${base} has too long a path for sockets: set TMPDIR to a shorter one`);
  }
  return path;
}

/** @throws errors of the file system */
function staleIn(base: string): string[] {
  const isStale = (name: string) => {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) return false;
    const stat = lstatSync(join(base, name), {throwIfNoEntry: false});
    return stat?.isDirectory() === true && stat.uid === process.getuid?.();
  };
  return readdirSync(base)
    .filter(isStale)
    .map(name => join(base, name));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: alive, and somebody else's.
  }
}
