/** Where JavaScript runs besides browsers: executables of each runtime, installed once on a machine by npm, without scripts of packages. */
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, readdir, rename, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createLogger} from '../../shared/log.ts';
import {NODE_VERSIONS, type NodeVersion} from '../../shared/node-version.ts';
import {NodeInstalls} from '../../supervisor/processes/node-installs.ts';
import {NodeBinaries} from '../../worker/runtime/node/node-binary.ts';
import {run} from '../react/project.ts';

const HOME = join(tmpdir(), 'svc-test-runtimes');

/** A command that runs the module behind it. */
export type Command = [executable: string, ...args: string[]];

const VERSIONS = join(tmpdir(), 'svc-test-node');
const installs = new NodeInstalls({env: process.env, directory: VERSIONS, log: createLogger({process: 'test'})});
const nodes = new NodeBinaries({
  env: process.env,
  directory: VERSIONS,
  install: version => installs.install(version),
});

export const RUNTIMES: readonly {name: string; hasWebSocket: boolean; command(): Promise<Command>}[] = [
  ...NODE_VERSIONS.map((version: NodeVersion) => ({
    name: `Node ${version}`,
    hasWebSocket: version !== '20',
    command: async (): Promise<Command> => [await nodes.find(version, 'project')],
  })),
  {
    name: 'Bun',
    hasWebSocket: true,
    command: async () => [await installed('bun@1', '@oven', 'bin/bun')],
  },
  {
    name: 'Deno',
    hasWebSocket: true,
    command: async () => [await installed('deno@2', '@deno', 'deno'), 'run', '--allow-net'],
  },
];

/** @param scope of the packages that have the executable, one of which is installed: that of this platform */
async function installed(name: string, scope: string, executable: string): Promise<string> {
  const home = join(HOME, name);
  if (!existsSync(home)) {
    await mkdir(HOME, {recursive: true});
    const staging = await mkdtemp(join(HOME, 'staging-'));
    await run(
      'npm',
      ['install', '--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit', '--prefix', '.', name],
      staging,
    );
    // Another test run may have been faster.
    await rename(staging, home).catch((caught: NodeJS.ErrnoException) => {
      if (caught.code !== 'ENOTEMPTY' && caught.code !== 'EEXIST') throw caught;
    });
    await rm(staging, {recursive: true, force: true});
  }
  const packages = join(home, 'node_modules', scope);
  for (const entry of await readdir(packages)) {
    const path = join(packages, entry, executable);
    if (existsSync(path)) return path;
  }
  throw new Error(`npm installed no executable of ${name} for this machine`);
}
