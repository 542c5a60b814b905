/**
 * Finds the executable of a version of Node, in this order: the path in SVC_NODE_<version>; the server's own
 * executable; the version installed in the data directory; the npm registry. The supervisor downloads and installs from
 * the registry, because a worker has no network (supervisor/processes/node-installs.ts).
 */
import {execFile} from 'node:child_process';
import {existsSync} from 'node:fs';
import {promisify} from 'node:util';
import {invalid, ServiceError} from '../../../shared/errors.ts';
import {FROZEN_FLAGS} from '../../../shared/node-flags.ts';
import {nodeExecutable, nodeHome} from '../../../shared/node-package.ts';
import type {NodeVersion} from '../../../shared/node-version.ts';

export type NodeBinaryParts = {
  /** The server's environment. */
  env: NodeJS.ProcessEnv;
  /** Directory of installed versions; null: none. */
  directory: string | null;
  /** Installs a version into that directory. @throws Error with a readable reason */
  install: (version: NodeVersion) => Promise<void>;
};

/** What requested the version: a project's svc.json, or the definition of a service or sandbox. */
export type NodeWantedBy = 'project' | 'definition';

const run = promisify(execFile);
const ASK_MS_MAX = 10_000;

export class NodeBinaries {
  readonly #parts: NodeBinaryParts;
  readonly #found = new Map<NodeVersion, Promise<string>>();
  readonly #installing = new Set<NodeVersion>();

  constructor(parts: NodeBinaryParts) {
    this.#parts = parts;
  }

  /**
   * @param onInstall called before an installation from npm, which takes longer.
   * @throws op.invalid_input 400: the version is missing and cannot be installed; the message says what to do
   */
  async find(version: NodeVersion, wantedBy: NodeWantedBy, onInstall?: () => void): Promise<string> {
    try {
      return await this.#shared(version, onInstall);
    } catch (caught) {
      throw caught instanceof NotThere ? notThere(version, caught, wantedBy) : caught;
    }
  }

  #shared(version: NodeVersion, onInstall?: () => void): Promise<string> {
    const known = this.#found.get(version);
    if (this.#installing.has(version)) onInstall?.();
    if (known !== undefined) return known;
    const found = this.#lookUp(version, onInstall);
    this.#found.set(version, found);
    found.catch(() => this.#found.delete(version)); // The next caller tries again.
    return found;
  }

  async #lookUp(version: NodeVersion, onInstall?: () => void): Promise<string> {
    const {env, directory, install} = this.#parts;
    const given = env[`SVC_NODE_${version}`];
    if (given !== undefined && given !== '') {
      const fault = await faultOf(given, version);
      if (fault === null) return given;
      throw invalid(`SVC_NODE_${version} of the server names an executable ${fault}`);
    }
    if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
    if (directory === null) throw new NotThere('the server has no directory to install it in');
    const binary = nodeExecutable(nodeHome(directory, version));
    if (!existsSync(binary)) {
      onInstall?.();
      this.#installing.add(version);
      const installed = install(version).finally(() => this.#installing.delete(version));
      await installed.catch((caught: unknown) => {
        throw new NotThere((caught as Error).message, {cause: caught});
      });
    }
    const fault = await faultOf(binary, version);
    if (fault !== null) throw new NotThere(`npm installed an executable ${fault}`);
    return binary;
  }
}

/** Its message is the reason. */
class NotThere extends Error {}

function notThere(version: NodeVersion, {message: reason, cause}: NotThere, wantedBy: NodeWantedBy): ServiceError {
  const isProject = wantedBy === 'project';
  const member = isProject ? '"node.nodeVersion" in svc.json' : '"node_version"';
  const fault = {message: `Node ${version} is not on this server: ${reason}`, file: 'svc.json', line: null};
  return new ServiceError(
    'op.invalid_input',
    `Node ${version} is not on this server and could not be installed from npm: ${reason}. Start the server with ` +
      `SVC_NODE_${version} set to the path of a Node ${version} executable, or choose another ${member}`,
    isProject ? {errors: [fault]} : undefined,
    {cause},
  );
}

/** Returns what is wrong with the executable; null: nothing. */
async function faultOf(binary: string, version: NodeVersion): Promise<string | null> {
  try {
    const {stdout} = await run(binary, [...FROZEN_FLAGS, '--version'], {env: {}, timeout: ASK_MS_MAX});
    return stdout.startsWith(`v${version}.`) ? null : `which is ${stdout.trim().slice(0, 40) || 'no Node'}`;
  } catch (caught) {
    const {stderr} = caught as {stderr?: string};
    if (stderr?.includes('bad option') === true) return `which does not know ${FROZEN_FLAGS.join(' ')}`;
    return `which cannot be run (${(caught as NodeJS.ErrnoException).code ?? (caught as Error).message})`;
  }
}
