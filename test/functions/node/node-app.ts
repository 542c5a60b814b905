/** What projects with `"use node"` modules need besides. */
import {chmodSync, copyFileSync, existsSync, mkdirSync, renameSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createLogger} from '../../../shared/log.ts';
import {NODE_VERSIONS, type NodeVersion} from '../../../shared/node-version.ts';
import {NodeInstalls} from '../../../supervisor/processes/node-installs.ts';
import {NodeBinaries} from '../../../worker/runtime/node/node-binary.ts';

/** Installed once on a machine, as a server does it, for all tests. */
const VERSIONS = join(tmpdir(), 'svc-test-node');

/** The server's variables that name an executable of each version. */
export async function nodeVariables(): Promise<Record<string, string>> {
  const installs = new NodeInstalls({env: process.env, directory: VERSIONS, log: createLogger({process: 'test'})});
  const install = (version: NodeVersion) => installs.install(version);
  const binaries = new NodeBinaries({env: process.env, directory: VERSIONS, install});
  const variables: Record<string, string> = {};
  for (const version of NODE_VERSIONS) {
    const found = await binaries.find(version, 'project');
    variables[`SVC_NODE_${version}`] = found === process.execPath ? ownNode() : found;
  }
  // Those that an earlier test installed: tenants have users of their own.
  await installs.letAllRead();
  return variables;
}

/** A copy of the executable that runs the tests, where users of tenants can run it: npx keeps its own in the caller's home. */
export function ownNode(): string {
  const copy = join(VERSIONS, `own-${process.version}`);
  if (existsSync(copy)) return copy;
  mkdirSync(VERSIONS, {recursive: true});
  const staging = `${copy}-${process.pid}`;
  copyFileSync(process.execPath, staging);
  chmodSync(staging, 0o755);
  renameSync(staging, copy);
  return copy;
}

/** The project's svc.json, among the files of an app. */
export function onNode(nodeVersion: string, externalPackages?: string[]): Record<string, string> {
  const node = {nodeVersion, ...(externalPackages === undefined ? {} : {externalPackages})};
  return {'../svc.json': JSON.stringify({node})};
}
