/**
 * The run directory: where workers listen, readable only by this user. If tenants have users of their own, each worker
 * has a subdirectory for its socket, which other users cannot traverse: routers can by its group, the worker as its
 * owner. The egress process always has one subdirectory for each worker. Socket names are short and numbered, because
 * an operating system truncates a longer path silently, and two workers would then share a socket.
 *
 * An empty XDG_RUNTIME_DIR counts as unset, as its specification says.
 *
 * The directory's name contains the process id of its supervisor, so that directories of killed supervisors are found
 * and removed. Programs that clean up temporary directories may remove it while the server runs: then it is created
 * again, or a new one.
 */
import {chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {assert} from '../../shared/assert.ts';
import type {WorkerUser} from '../../shared/ipc/control.ts';
import {EGRESS_PATH_CHARS, SOCKET_POLL_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {ensurePrivateDirectory, isPrivateDirectory} from '../../shared/private-directory.ts';
import {closedTo, letPass} from '../confinement/users.ts';
import {SOCKET_PATH_BYTES_MAX} from '../limits.ts';
import {StartError} from './start-error.ts';
import {removeTree} from './tenant-files.ts';

const NAME = /^svc-(\d+)-\w+$/;
/** Long enough for the largest number of a socket, and for the longest name below it: that of a data connection. */
const SOCKET_NAME_CHARS_MAX = `d${Number.MAX_SAFE_INTEGER}/`.length + EGRESS_PATH_CHARS;
/** The owner of a directory with a socket in it. */
type Owner = {uid: number; gid: number};

/** The owner has all rights; the group can traverse. */
const PASSED_MODE = 0o710;

export class RunDirectory {
  readonly #log: Logger;
  /** The group of all workers; null: they run as our user. */
  readonly #group: number | null;
  #path: string;
  #sockets = 0;
  /** The directory is missing and could not be created again: logged once. */
  #isLost = false;
  /** Directories of workers that are alive. */
  readonly #own = new Map<string, Owner>();
  readonly #timer: NodeJS.Timeout | null;

  /** @throws StartError */
  constructor(log: Logger, group: number | null) {
    this.#log = log;
    this.#group = group;
    const [base, ...others] = runBases();
    // Workers with users of their own must be able to traverse its parent directories.
    this.#path = this.#make(
      (group === null ? null : [base, ...others].find(path => closedTo(group, path) === null)) ?? base,
    );
    this.#timer = group === null ? null : setInterval(() => this.#poll(), SOCKET_POLL_MS).unref();
  }

  get path(): string {
    return this.#path;
  }

  /** A socket path that no worker of this server had before. */
  nextSocketPath(user: WorkerUser | null): string {
    // The group is the routers' group.
    return this.#next('w', user === null ? null : {uid: user.id, gid: process.getegid!()});
  }

  /**
   * Where a worker finds its proxy endpoint: a directory of its own, which also contains its data connections. Its
   * group is the tenant's, so other users cannot traverse it. The worker can traverse it but not change it, because the
   * egress process has the server's rights and would use them on files that a worker planted.
   */
  nextEndpointPath(user: WorkerUser | null): string {
    return this.#next('d', {uid: process.geteuid!(), gid: user?.id ?? process.getegid!()});
  }

  #next(kind: 'w' | 'd', owner: Owner | null): string {
    this.#poll();
    this.#sockets++;
    const path = join(this.#path, `${kind}${this.#sockets}`, ...(owner === null ? [] : ['s']));
    assert(Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX, 'a socket path fits what the system keeps of it');
    if (owner !== null) {
      this.#own.set(dirname(path), owner);
      this.#makeOwn(dirname(path), owner);
    }
    return path;
  }

  /** The worker with this socket has ended. */
  forget(socketPath: string): void {
    const directory = dirname(socketPath);
    if (!this.#own.delete(directory)) return;
    void this.#remove(directory);
  }

  /** Called as the process exits. */
  remove(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    if (!isPrivateDirectory(this.#path, this.#mode)) return;
    try {
      rmSync(this.#path, {recursive: true, force: true});
    } catch (error) {
      this.#log.warn('the next start removes the run directory', {path: this.#path, error});
    }
  }

  /**
   * Removes directories of supervisors that were killed. None of their workers can be running. Failures are logged,
   * because nothing waits for it.
   */
  async removeStale(): Promise<void> {
    const base = dirname(this.#path);
    try {
      for (const path of staleIn(base)) await this.#remove(path);
    } catch (error) {
      this.#log.error('run directories of earlier servers cannot be listed', {path: base, error});
    }
  }

  /**
   * Works for whatever the worker's user put there, such as millions of files, or directories deeper than a path can be
   * long.
   */
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

  /**
   * Checks whether the directory still exists. Workers with users of their own cannot create the subdirectory that they
   * listen in.
   */
  #poll(): void {
    if (!isPrivateDirectory(this.#path, this.#mode) || !letsPass(this.#path, this.#group)) this.#renew();
    for (const [path, owner] of this.#own) {
      // If something else has the path by now, nothing is created below it.
      const isHere = dirname(path) === this.#path;
      if (isHere && lstatSync(path, {throwIfNoEntry: false}) === undefined) this.#makeOwn(path, owner);
    }
  }

  /** If the directory cannot be created, the worker cannot listen there and reports that. */
  #makeOwn(path: string, {uid, gid}: Owner): void {
    try {
      mkdirSync(path, {mode: PASSED_MODE});
      chmodSync(path, PASSED_MODE);
      chownSync(path, uid, gid);
    } catch (error) {
      this.#log.error('the directory of a socket cannot be made', {path, error});
    }
  }

  /**
   * Creates it again under its old name, which awake workers check. If that is not possible, creates one under another
   * name, where possible.
   */
  #renew(): void {
    const lost = this.#path;
    try {
      if (!ensurePrivateDirectory(lost)) this.#path = this.#make(tmpdir());
      else if (this.#group !== null) letPass(lost, this.#group);
      this.#isLost = false;
      this.#log.warn('the run directory was removed; it is made again', {lost, path: this.#path});
    } catch (error) {
      // Awake workers are still served; a worker that is started now reports that it cannot listen.
      if (!this.#isLost) this.#log.error('the run directory was removed, and none can be made', {lost, error});
      this.#isLost = true;
    }
  }
}

/**
 * Whether the directory lets workers through: a program that creates it again may make it as restrictive as our own
 * directories are.
 */
function letsPass(path: string, group: number | null): boolean {
  if (group === null) return true;
  const stat = lstatSync(path, {throwIfNoEntry: false});
  return stat === undefined || (stat.gid === group && (stat.mode & 0o777) === PASSED_MODE);
}

/** Possible base directories, the best first. */
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

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: alive, and of another user.
  }
}
