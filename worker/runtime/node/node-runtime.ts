/**
 * The Node runtime of one tenant. It analyses the `"use node"` modules of a deployment before the deploy is accepted,
 * runs their actions, and writes the code of services to disk. It loads and starts nothing until such a module exists.
 */

import {dirname} from 'node:path';
import {assert} from '../../../shared/assert.ts';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import type {Logger} from '../../../shared/log.ts';
import type {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import type {NodeVersion} from '../../../shared/node-version.ts';
import type {NodePart} from '../../../shared/protocol/functions.ts';
import type {ActionLink} from '../actions/action-link.ts';
import type {ActionRequest} from '../actions/action-message.ts';
import type {AnalysedNode, NodeModules} from '../analysis/node-modules.ts';
import type {CodeStore} from '../code-store.ts';
import type {Outcome} from '../execution.ts';
import type {ProcessMemory} from '../process-memory.ts';
import type {ClusterPackages} from './cluster-packages.ts';
import {CodeDirectories} from './code-directory.ts';
import {checkedPackages} from './deployed-packages.ts';
import {analyzeNode} from './node-analysis.ts';
import {NodeBinaries} from './node-binary.ts';
import {NodePool} from './node-pool.ts';
import type {NodeCode} from './node-process.ts';
import {PackageStore} from './package-store.ts';

export type NodeRuntimeParts = {
  /** Path of the tenant's file. */
  path: string;
  /** The server's environment, which can name executables of Node. */
  env: NodeJS.ProcessEnv;
  /** Has the supervisor install a version. */
  installNode: (version: NodeVersion) => Promise<void>;
  /** Null: this server is no host of a cluster. */
  clusterPackages: ClusterPackages | null;
  code: CodeStore;
  partOf: (deployment: number) => NodePart | null;
  egress: () => EgressEndpoint;
  memory: ProcessMemory;
  metrics: WorkerMetrics;
  log: Logger;
};

/** Deployments whose directories are known to be complete. */
const KNOWN_MAX = 4;

export class NodeRuntime implements NodeModules {
  /** Packages that deployments import without bundling them. */
  readonly packages: PackageStore;
  readonly #parts: NodeRuntimeParts;
  readonly #binaries: NodeBinaries;
  readonly #directories: CodeDirectories;
  readonly #services: CodeDirectories;
  readonly #sandboxes: CodeDirectories;
  readonly #pool: NodePool;
  /** By deployment; the newest is last. */
  readonly #known = new Map<number, Promise<NodeCode>>();

  constructor(parts: NodeRuntimeParts) {
    this.#parts = parts;
    const {env, path, installNode, memory, metrics, clusterPackages} = parts;
    this.#binaries = new NodeBinaries({env, directory: env.SVC_NODE_DIRECTORY ?? null, install: installNode});
    this.packages = new PackageStore(dirname(path), clusterPackages);
    this.#directories = new CodeDirectories(dirname(path), 'node', this.packages);
    this.#services = new CodeDirectories(dirname(path), 'services', this.packages);
    this.#sandboxes = new CodeDirectories(dirname(path), 'sandboxes', this.packages);
    this.#pool = new NodePool({memory, onEnd: cause => metrics.count('svc_node_process_ends_total', {cause})});
    metrics.measure('svc_node_processes', () => this.#pool.processes);
    metrics.measure('svc_node_process_bytes', () => this.#pool.bytes);
  }

  async analyze(...[upload, files, {env, tell}]: Parameters<NodeModules['analyze']>): Promise<AnalysedNode> {
    const {version} = upload;
    const count = upload.packages.length;
    if (count > 0) tell('unpacking_packages', count === 1 ? '1 package' : `${count} packages`);
    const packages = await checkedPackages(upload.packages, this.packages);
    const binary = await this.#binaries.find(version, 'project', () => tell('installing_node', version));
    tell('loading_node_modules', version);
    const part: NodePart = {
      version,
      files: [...files].map(([path, {sha256}]) => ({path, sha256})),
      ...(packages.length === 0 ? {} : {packages}),
    };
    const root = await this.#directories.write(part, path => files.get(path)!.source);
    const functions = await analyzeNode({
      code: {version, binary, root},
      env,
      egress: this.#parts.egress(),
      modules: upload.modules,
      mapOf: path => files.get(path)?.sourceMap ?? null,
    });
    return {part, functions};
  }

  /**
   * The code of a service. @param read returns the source of a file. @throws op.invalid_input 400: this Node cannot be
   * had
   */
  async serviceCode(part: NodePart, read: (path: string) => string): Promise<NodeCode> {
    const {version} = part;
    const binary = await this.#binaries.find(version, 'definition');
    return {version, binary, root: await this.#services.write(part, read)};
  }

  /**
   * The scripts that run a sandbox, which has no code of its own. @throws op.invalid_input 400: this Node cannot be had
   */
  async sandboxCode(version: NodeVersion): Promise<NodeCode> {
    const part: NodePart = {version, files: []};
    const binary = await this.#binaries.find(version, 'definition');
    return {version, binary, root: await this.#sandboxes.write(part, unread)};
  }

  /** Removes code that no service uses. */
  forgetServices(kept: () => readonly NodePart[]): Promise<void> {
    return this.#services.forget(kept);
  }

  /** Resolves when another host that takes the tenant over has what the deployment needs. @throws as PackageStore.share */
  async share({packages = []}: NodePart): Promise<void> {
    await this.packages.share(packages.map(({sha512}) => sha512));
  }

  async forget(kept: () => readonly NodePart[]): Promise<void> {
    await this.#directories.forget(kept);
    await this.packages.forget(() => packagesOf(kept()));
  }

  /** Works like `run` of an action pool. */
  async run(request: ActionRequest, link: ActionLink, signal?: AbortSignal): Promise<Outcome> {
    return await this.#pool.run(await this.#codeOf(request.deployment.id, request), request, link, signal);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #codeOf(id: number, {deployment}: ActionRequest): Promise<NodeCode> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const made = this.#made(id, deployment);
    this.#known.set(id, made);
    made.catch(() => this.#known.delete(id)); // The next call tries again.
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX) this.#known.delete(oldest!);
    return made;
  }

  async #made(id: number, deployment: ActionRequest['deployment']): Promise<NodeCode> {
    const part = this.#parts.partOf(id);
    assert(part !== null, `deployment ${id} has modules for Node`);
    const binary = await this.#binaries.find(part.version, 'project');
    const {read} = this.#parts.code.sourceOf(deployment);
    const root = await this.#directories.write(part, read);
    // The store of the cluster can have lost them. The action need not wait.
    this.share(part).catch(error => this.#parts.log.warn('packages are not in the store of the cluster', {error}));
    return {version: part.version, binary, root};
  }
}

function unread(path: string): never {
  throw new Error(`${path} is in no list of files`);
}

/** SHA-512 of all packages of these parts. */
export function packagesOf(parts: readonly NodePart[]): ReadonlySet<string> {
  return new Set(parts.flatMap(({packages = []}) => packages.map(({sha512}) => sha512)));
}
