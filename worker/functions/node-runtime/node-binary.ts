/**
 * Where a version of Node comes from, in this order: the path in SVC_NODE_<version>, the server's own executable, what was
 * installed into the data directory, and at last the npm registry. From there comes the package that `node@<version>`
 * installs for this machine, and no script of any package is run.
 */
import {execFile, spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {ServiceError} from '../../../shared/errors.ts';
import {NODE_INSTALL_MS_MAX, NODE_LAST_WORDS_CHARS} from '../../../shared/limits.ts';
import type {Logger} from '../../../shared/log.ts';
import type {NodeVersion} from '../../../shared/node-version.ts';

export type NodeBinaryParts = {
  /** Of the server. */
  env: NodeJS.ProcessEnv;
  /** Where versions are installed; null: nowhere. */
  directory: string | null;
  log: Logger;
};

const run = promisify(execFile);
const ASK_MS_MAX = 10_000;

export class NodeBinaries {
  readonly #parts: NodeBinaryParts;
  readonly #found = new Map<NodeVersion, Promise<string>>();

  constructor(parts: NodeBinaryParts) {
    this.#parts = parts;
  }

  /** @throws op.invalid_input 400: it is not there and cannot be had, with what to do */
  find(version: NodeVersion): Promise<string> {
    const known = this.#found.get(version);
    if (known !== undefined) return known;
    const found = this.#look(version);
    this.#found.set(version, found);
    found.catch(() => this.#found.delete(version)); // The next one tries again.
    return found;
  }

  async #look(version: NodeVersion): Promise<string> {
    const {env, directory} = this.#parts;
    const given = env[`SVC_NODE_${version}`];
    if (given !== undefined && given !== '') {
      const fault = await faultOf(given, version);
      if (fault === null) return given;
      throw new ServiceError('op.invalid_input', `SVC_NODE_${version} of the server is ${given}, ${fault}`);
    }
    if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
    if (directory === null) throw notThere(version, 'the server has no directory to install it in');
    const home = join(directory, `${version}-${process.platform}-${process.arch}`);
    const binary = join(home, 'node_modules', packageName(), 'bin/node');
    if (!existsSync(binary)) await this.#install(version, directory, home);
    const fault = await faultOf(binary, version);
    if (fault !== null) throw notThere(version, `what npm installed as ${binary} is ${fault}`);
    return binary;
  }

  /** Other workers may do the same: the first to finish gives the directory its name. */
  async #install(version: NodeVersion, directory: string, home: string): Promise<void> {
    const {log} = this.#parts;
    await mkdir(directory, {recursive: true, mode: 0o700});
    const staging = await mkdtemp(join(directory, `${version}-`));
    const startedMs = performance.now();
    log.info('a version of Node is being installed; deploys that need it wait', {version, package: packageName()});
    try {
      await npm(['install', '--no-save', '--no-package-lock', `${packageName()}@${version}`], staging, this.#parts.env);
      await rename(staging, home).catch((caught: NodeJS.ErrnoException) => {
        if (caught.code !== 'ENOTEMPTY' && caught.code !== 'EEXIST') throw caught;
      });
      log.info('a version of Node is installed', {version, ms: Math.round(performance.now() - startedMs)});
    } catch (caught) {
      log.warn('a version of Node could not be installed', {version, error: caught});
      throw notThere(version, (caught as Error).message, caught);
    } finally {
      await rm(staging, {recursive: true, force: true});
    }
  }
}

/** What `node@<version>` installs for this machine. */
function packageName(): string {
  const {platform, arch} = process;
  const prefix = platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node';
  return `${prefix}-${platform === 'win32' ? 'win' : platform}-${arch}`;
}

function notThere(version: NodeVersion, reason: string, cause?: unknown): ServiceError {
  return new ServiceError(
    'op.invalid_input',
    `Node ${version} is not on this server and could not be installed from npm: ${reason}. Start the server with ` +
      `SVC_NODE_${version} set to the path of a Node ${version} executable, or choose another "node.nodeVersion" in svc.json`,
    {errors: [{message: `Node ${version} is not on this server: ${reason}`, file: 'svc.json', line: null}]},
    {cause},
  );
}

/** What is wrong with it; null: nothing. */
async function faultOf(binary: string, version: NodeVersion): Promise<string | null> {
  try {
    const {stdout} = await run(binary, ['--version'], {env: {}, timeout: ASK_MS_MAX});
    return stdout.startsWith(`v${version}.`) ? null : `which is ${stdout.trim().slice(0, 40) || 'no Node'}`;
  } catch (caught) {
    return `which cannot be run (${(caught as NodeJS.ErrnoException).code ?? (caught as Error).message})`;
  }
}

/** Runs npm without scripts of packages. @throws Error with the reason that npm gives */
export function npm(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const {PATH, HOME, TMPDIR, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE} = env;
  const passed = {PATH, HOME, TMPDIR, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE};
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
  child.stderr.on('data', (piece: Buffer) => {
    said = (said + piece.toString()).slice(-NODE_LAST_WORDS_CHARS);
  });
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      reject(new Error(error.code === 'ENOENT' ? 'npm is not on its PATH' : error.message));
    });
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else if (signal !== null) reject(new Error('npm took too long'));
      else reject(new Error(`npm failed: ${reasonIn(said)}`));
    });
  });
}

/** The first lines of what npm said that say something. */
function reasonIn(said: string): string {
  const lines = said.split('\n').map(line => line.replace(/^npm (?:error|ERR!) ?/, '').trim());
  return (
    lines
      .filter(line => line !== '' && !/complete log|\.log$/.test(line))
      .slice(0, 4)
      .join('; ') || 'it does not say why'
  );
}
