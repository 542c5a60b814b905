/**
 * The run directory: where workers listen, readable by this user alone. Socket names are short and numbered, because an
 * operating system cuts a longer path silently and two workers would then share one.
 *
 * XDG_RUNTIME_DIR set to nothing is as if it were not set, as its specification says.
 *
 * The name holds the process id of its supervisor, so that what a killed one left behind is found and removed. Whatever else
 * tidies temporary folders may remove it, too, while the server runs: it is made again then, or another one.
 */
import {lstatSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {assert} from '../shared/assert.ts';
import {SOCKET_PATH_BYTES_MAX} from '../shared/limits.ts';
import type {Logger} from '../shared/log.ts';
import {ensurePrivateDirectory, isPrivateDirectory} from '../shared/private-directory.ts';
import {StartError} from './start-error.ts';

const NAME = /^svc-(\d+)-\w+$/;
/** Room for the largest number a socket can have. */
const SOCKET_NAME_CHARS_MAX = `w${Number.MAX_SAFE_INTEGER}`.length;

export class RunDirectory {
  readonly #log: Logger;
  #path: string;
  #sockets = 0;

  /** @throws StartError */
  constructor(log: Logger, base = process.env.XDG_RUNTIME_DIR || tmpdir()) {
    this.#log = log;
    this.#path = makeIn(base);
  }

  get path(): string {
    return this.#path;
  }

  /** A socket path that no worker of this server had before. */
  nextSocketPath(): string {
    if (!isPrivateDirectory(this.#path)) this.#renew();
    this.#sockets++;
    const path = join(this.#path, `w${this.#sockets}`);
    assert(Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX, 'a socket path fits what the system keeps of it');
    return path;
  }

  remove(): void {
    if (isPrivateDirectory(this.#path)) rmSync(this.#path, {recursive: true, force: true});
  }

  /** Under its old name, which workers that are awake look at. When that cannot be had: under another, where one can be. */
  #renew(): void {
    const lost = this.#path;
    try {
      if (!ensurePrivateDirectory(lost)) this.#path = makeIn(tmpdir());
      this.#log.warn('the run directory was removed; it is made again', {lost, path: this.#path});
    } catch (error) {
      // Those awake are served; a worker that is started now says that it cannot listen.
      this.#log.error('the run directory was removed, and none can be made', {lost, error});
    }
  }
}

/** @throws StartError */
function makeIn(base: string): string {
  let path: string;
  try {
    removeStale(base);
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

function removeStale(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(base, name);
    const stat = lstatSync(path, {throwIfNoEntry: false});
    if (stat?.isDirectory() && stat.uid === process.getuid?.()) rmSync(path, {recursive: true, force: true});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (caught) {
    return (caught as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: alive, and somebody else's.
  }
}
