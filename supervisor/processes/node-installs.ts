/**
 * Installs versions of Node for workers, which have no network. A worker can only choose one of four versions. No
 * package scripts are run. npm gets a home and a cache next to the installation, because the server's own home may be
 * inaccessible, as under the systemd unit; only the settings in the server's `~/.npmrc` are read.
 */
import {spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {STDERR_TAIL_CHARS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {nodeExecutable, nodeHome, nodePackage} from '../../shared/node-package.ts';
import type {NodeVersion} from '../../shared/node-version.ts';
import {NODE_INSTALL_MS_MAX, NODE_INSTALL_PAUSE_MS} from '../limits.ts';

export type NodeInstallsParts = {
  /** The server's environment. */
  env: NodeJS.ProcessEnv;
  /** The parent directory of all versions. */
  directory: string;
  log: Logger;
};

/** Directory names that `mkdtemp` creates for a version. */
const UNFINISHED = /^\d+-[A-Za-z0-9]{6}$/;

/** An error that tenants see, without details of the server such as paths or its registry. */
class CannotInstall extends Error {}

export class NodeInstalls {
  readonly #parts: NodeInstallsParts;
  readonly #underWay = new Map<NodeVersion, Promise<void>>();
  /** Versions whose installation failed, and when. */
  readonly #failed = new Map<NodeVersion, {sinceMs: number; error: Error}>();

  constructor(parts: NodeInstallsParts) {
    this.#parts = parts;
  }

  /** Opens installations of earlier versions of svc, which only their own user could read. */
  async letAllRead(): Promise<void> {
    if (existsSync(this.#parts.directory)) await letAllRead(this.#parts.directory);
  }

  /**
   * Removes incomplete installations of killed servers. None is under way, because one server at a time uses the
   * directory.
   */
  async removeUnfinished(): Promise<void> {
    const {directory} = this.#parts;
    if (!existsSync(directory)) return;
    for (const name of await readdir(directory)) {
      if (UNFINISHED.test(name)) await rm(join(directory, name), {recursive: true, force: true});
    }
  }

  /**
   * Installs once for all concurrent requests; after a failure not again for NODE_INSTALL_PAUSE_MS.
   * @throws Error with a reason that tenants can see
   */
  install(version: NodeVersion): Promise<void> {
    const known = this.#underWay.get(version);
    if (known !== undefined) return known;
    const failed = this.#failed.get(version);
    if (failed !== undefined && performance.now() - failed.sinceMs < NODE_INSTALL_PAUSE_MS) {
      return Promise.reject(failed.error);
    }
    const installing = this.#install(version)
      .catch((error: Error) => {
        this.#failed.set(version, {sinceMs: performance.now(), error});
        throw error;
      })
      .finally(() => this.#underWay.delete(version));
    this.#underWay.set(version, installing);
    return installing;
  }

  /** A complete version that is there already stays. */
  async #install(version: NodeVersion): Promise<void> {
    const {directory, env, log} = this.#parts;
    const home = nodeHome(directory, version);
    if (existsSync(nodeExecutable(home))) return;
    await mkdir(directory, {recursive: true});
    await chmod(directory, 0o755);
    const staging = await mkdtemp(join(directory, `${version}-`));
    const startedMs = performance.now();
    log.info('a version of Node is being installed; deploys that need it wait', {version, package: nodePackage()});
    try {
      const made = join(staging, 'made');
      await mkdir(made);
      await npm(['install', '--no-save', '--no-package-lock', `${nodePackage()}@${version}`], made, staging, env);
      await letAllRead(made);
      await rename(made, home).catch((caught: NodeJS.ErrnoException) => {
        if (caught.code !== 'ENOTEMPTY' && caught.code !== 'EEXIST') throw caught;
      });
      log.info('a version of Node is installed', {version, ms: Math.round(performance.now() - startedMs)});
    } catch (caught) {
      log.warn('a version of Node could not be installed', {version, error: caught});
      throw caught instanceof CannotInstall
        ? caught
        : new CannotInstall('the log of the server says why', {cause: caught});
    } finally {
      await rm(staging, {recursive: true, force: true});
    }
  }
}

/**
 * Makes it readable for all, because it is run by other users than the one that installed it. It contains no secrets.
 */
async function letAllRead(path: string): Promise<void> {
  await chmod(path, 0o755);
  for (const entry of await readdir(path, {withFileTypes: true})) {
    const at = join(path, entry.name);
    if (entry.isDirectory()) await letAllRead(at);
    else if (entry.isFile()) await chmod(at, ((await stat(at)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** Runs npm without package scripts, with its own home and cache. @throws Error with the reason that npm reports */
async function npm(args: readonly string[], cwd: string, own: string, env: NodeJS.ProcessEnv): Promise<void> {
  const {PATH, TMPDIR, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE} = env;
  const places = {HOME: own, npm_config_cache: join(own, 'cache'), npm_config_userconfig: await settingsIn(env.HOME)};
  const passed = {PATH, TMPDIR, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, ...places};
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const child = spawn('npm', [...args, ...flags, '--prefix', cwd], {
    cwd,
    env: given as NodeJS.ProcessEnv,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: NODE_INSTALL_MS_MAX,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-STDERR_TAIL_CHARS);
  });
  await new Promise<void>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? new CannotInstall('npm is not on the PATH of the server') : error);
    });
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else if (signal !== null) reject(new CannotInstall('npm took too long'));
      else reject(new Error(`npm failed: ${reasonIn(said)}`));
    });
  });
}

/** The npm settings of the server's user; undefined: there are none, or they are unreadable. */
async function settingsIn(home: string | undefined): Promise<string | undefined> {
  if (home === undefined) return undefined;
  const path = join(home, '.npmrc');
  return access(path, constants.R_OK).then(
    () => path,
    () => undefined,
  );
}

/** The first informative lines of npm's output. */
function reasonIn(said: string): string {
  const lines = said.split('\n').map(line => line.replace(/^npm (?:error|ERR!) ?/, '').trim());
  return (
    lines
      .filter(line => line !== '' && !/complete log|\.log$/.test(line))
      .slice(0, 4)
      .join('; ') || 'it does not say why'
  );
}
