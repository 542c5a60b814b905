/**
 * The function platform of one tenant: wires its parts, which serve its operations. Isolates, their process and the
 * analysis start on first use, so a tenant that only stores documents pays for this code but for no running process.
 */
import type {Buffer} from 'node:buffer';
import {dirname, join} from 'node:path';
import type {Commit, CommittedEvent, Stage} from '../../engine/commit/commit.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import type {LiveIndex} from '../../engine/live/live-index.ts';
import type {SchemaChanges} from '../../engine/schema/change.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {journalTimeline} from '../../engine/storage/journal-timeline.ts';
import type {Reader} from '../../engine/storage/reader.ts';
import type {TenantFunctionSettings} from '../../engine/storage/stored-settings.ts';
import {assert} from '../../shared/assert.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {NodeVersion} from '../../shared/node-version.ts';
import type {FunctionList} from '../../shared/protocol/functions.ts';
import type {ReportedCall} from '../ipc/shared-results.ts';
import {analyze} from '../runtime/analysis/analysis.ts';
import type {LiveDeployment} from '../runtime/call.ts';
import {type CallResult, shownError} from '../runtime/call-result.ts';
import {CodeStore} from '../runtime/code-store.ts';
import {LazyFetch} from '../runtime/egress/lazy-fetch.ts';
import type {WorkerEgress} from '../runtime/egress/worker-egress.ts';
import {Environment} from '../runtime/environment.ts';
import type {FunctionIsolates} from '../runtime/isolate-process/function-isolates.ts';
import {ExecutionLog, executionFiles} from '../runtime/log/execution-log.ts';
import {FailureLines} from '../runtime/log/failure-lines.ts';
import {type LogTarget, readLog} from '../runtime/log/read-log.ts';
import type {ClusterPackages} from '../runtime/node/cluster-packages.ts';
import {NodeRuntime, packagesOf} from '../runtime/node/node-runtime.ts';
import {ProcessMemory} from '../runtime/process-memory.ts';
import {SourcePositions} from '../runtime/source-positions.ts';
import {Verifier} from './auth/verifier.ts';
import {type ActiveDeployment, Deployments} from './deployments/deployments.ts';
import {FunctionEndpoints} from './endpoints.ts';
import {Functions} from './functions.ts';
import {HttpActions} from './http-actions.ts';
import {MutationRunner} from './mutations/mutation-runner.ts';
import {Results} from './results/results.ts';
import {ServiceHost} from './service-host.ts';
import {Settings} from './settings.ts';
import {QueryRuns} from './sync/queries/query-runs.ts';
import {ClientMutations} from './sync/session/client-mutations.ts';
import {Sync} from './sync/sync.ts';

type ServedDeployment = LiveDeployment & {table: ActiveDeployment};

export type PlatformParts = {
  path: string;
  db: Connection;
  writer: Writer;
  reader: Reader;
  groups: CommitGroups;
  schemas: SchemaChanges;
  index: LiveIndex;
  clock: () => number;
  log: Logger;
  metrics: WorkerMetrics;
  /** The egress client of the tenant's code. */
  egress: Pick<WorkerEgress, 'endpoint' | 'put'>;
  /** Installs a version of Node. */
  installNode: (version: NodeVersion) => Promise<void>;
  /** Null: this server is no host of a cluster. */
  clusterPackages: ClusterPackages | null;
  /** Clients see that a function failed, but not the reason. */
  redactErrors: boolean;
};

export class FunctionPlatform implements Stage {
  readonly deployments: Deployments;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly #isolates: FunctionIsolates;
  readonly #results: Results<CallResult>;
  readonly #mutations: MutationRunner;
  readonly #nodes: NodeRuntime;
  readonly #memory = new ProcessMemory();
  readonly #log: ExecutionLog;
  readonly #functions: Functions;
  readonly endpoints: FunctionEndpoints;
  readonly httpActions: HttpActions;
  /** The function sockets. */
  readonly sync: Sync;
  /** The parts of the platform that services use. */
  readonly services: ServiceHost;
  readonly #clock: () => number;
  readonly #redactErrors: boolean;
  /** The deployment for queries and actions: active in the committed state. */
  #live: ServedDeployment | null;
  /** The deployment for mutations: differs from `#live` between the write that activates it and its commit. */
  #writing: ServedDeployment | null;
  #verifier: Verifier;
  readonly #egress: LazyFetch;

  /** @param isolates run queries and actions; closed with the platform */
  constructor(parts: PlatformParts, isolates: FunctionIsolates) {
    const {path, db, writer, groups, clock, redactErrors} = parts;
    this.#clock = clock;
    this.#redactErrors = redactErrors;
    this.#log = new ExecutionLog(
      executionFiles(join(dirname(path), 'log'), parts.log),
      new FailureLines(parts.log, clock),
    );
    this.environment = new Environment(writer, groups);
    this.settings = new Settings(writer, groups, parts.egress);
    const egress = () => parts.egress.endpoint(this.settings.current.egress);
    this.#egress = new LazyFetch(egress);
    this.#isolates = isolates;
    this.#mutations = new MutationRunner(writer, db, () => this.deployments.active);
    this.#memory.add(this.#mutations);
    const code = new CodeStore(db);
    const partOf = (id: number) => this.deployments.nodePart(id);
    this.#nodes = new NodeRuntime({
      path,
      env: process.env,
      installNode: parts.installNode,
      clusterPackages: parts.clusterPackages,
      code,
      partOf,
      egress,
      memory: this.#memory,
      metrics: parts.metrics,
      log: parts.log,
    });
    this.deployments = new Deployments({...parts, environment: this.environment, analyze, node: this.#nodes});
    this.#writing = this.#newDeployment();
    this.#live = this.#writing;
    this.#verifier = this.#newVerifier();
    this.#results = new Results({
      index: parts.index,
      metrics: parts.metrics,
      sequence: groups.durableSequence,
      isCurrent: env => this.environment.isCurrent(env),
      run: execution => isolates.run(execution),
    });
    const live = () => this.#live;
    const writing = () => this.#deploymentOfWrites();
    const env = () => this.environment.current;
    const verifier = () => this.#verifier;
    const {actions} = isolates;
    const functions = new Functions({
      groups,
      catalog: parts.writer.catalog,
      results: this.#results,
      mutations: this.#mutations,
      memory: this.#memory,
      actions,
      nodeActions: this.#nodes,
      log: this.#log,
      metrics: parts.metrics,
      live,
      writing,
      env,
      egress,
      clock,
      redactErrors,
    });
    this.#functions = functions;
    const timeline = journalTimeline(db);
    this.endpoints = new FunctionEndpoints({functions, verifier, groups, writing, clock, timeline, redactErrors});
    const routes = () => this.#live?.table.manifest.routes ?? null;
    this.httpActions = new HttpActions({functions, actions, live, routes, verifier, env, egress, clock, redactErrors});
    const mutations = new ClientMutations({call: call => functions.call(call), writer, groups});
    this.sync = new Sync({
      index: parts.index,
      metrics: parts.metrics,
      log: parts.log,
      sequence: groups.durableSequence,
      runs: new QueryRuns({
        pool: isolates,
        cached: this.#results,
        groups,
        catalog: parts.writer.catalog,
        live,
        env,
        clock,
        record: (...execution) => functions.record(...execution),
      }),
      call: call => functions.call(call),
      mutate: (...mutation) => mutations.run(...mutation),
      verify: async token => {
        const {identity, expMs} = await this.#verifier.verify(token);
        return {identity: JSON.stringify(identity), expMs};
      },
      shown: (error, requestId) => shownError(error, requestId, redactErrors),
      isOpen: !redactErrors,
      allowedOrigins: () => this.allowedOrigins,
      timeline,
      clock,
    });
    this.services = new ServiceHost({
      functions,
      subscribedQueries: this.sync.subscribedQueries,
      nodes: this.#nodes,
      code,
      live,
      partOf,
      env,
      egress,
      redactErrors,
    });
  }

  /** Stores a package that modules for Node import. @throws as `add` and `share` of PackageStore */
  async addPackage(sha512: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const used = () => packagesOf(this.deployments.nodeParts());
    await this.#nodes.packages.add(sha512, chunks, used);
    await this.#nodes.packages.share([sha512], used);
  }

  /** Those of these packages that still have to be sent. */
  missingPackages(sha512: readonly string[]): Promise<string[]> {
    return this.#nodes.packages.missing(sha512);
  }

  /** Runs a scheduled function inside the write of its job. */
  readonly runJob: Functions['runJob'] = (...job) => this.#functions.runJob(...job);

  /** Loads what a scheduled function's run needs, before the write of its job. */
  readonly prepareJob: Functions['prepareJob'] = path => this.#functions.prepareJob(path);

  /** Origins of pages that can call the functions; null: any. */
  get allowedOrigins(): readonly string[] | null {
    return this.settings.current.allowed_origins;
  }

  /** They are in the log and the counts as any other call. */
  answeredByRouter(calls: readonly ReportedCall[]): void {
    for (const call of calls) this.#functions.answeredByRouter(call);
  }

  /** See `readLog`. @param query of the URL */
  readLog(query: string, to: LogTarget): Promise<void> {
    return readLog(this.#log, to, query);
  }

  async close(): Promise<void> {
    this.sync.close();
    this.#verifier.close();
    this.#mutations.close();
    this.#memory.close();
    await Promise.all([this.#isolates.close(), this.#nodes.close(), this.#egress.close()]);
    await this.#log.close();
  }

  /** The functions of the active deployment. */
  functionList(): FunctionList {
    const {id = null, manifest} = this.#live?.table ?? {};
    return {deployment: id, functions: manifest?.functions ?? []};
  }

  /** Decides who callers are, by the active deployment's providers. */
  get verifier(): Verifier {
    return this.#verifier;
  }

  /** Applies a commit's events to the rest of the platform. */
  committed(commit: Commit): void {
    this.#results.committed(commit);
    for (const committed of commit.events) {
      if (committed.type === 'deployment.activated') this.#serve();
      else if (committed.type === 'settings.changed') this.#takeSettings(committed);
    }
    this.sync.committed(commit);
  }

  /** Switches to the newly active deployment. Deploys run one after another, so no other is under way. */
  #serve(): void {
    const before = this.#providers;
    this.#live = this.#deploymentOfWrites();
    this.#verifier.close();
    this.#verifier = this.#newVerifier();
    if (this.#providers !== before) this.sync.verifyAgain();
  }

  /** The auth providers of the current deployment, as JSON. */
  get #providers(): string {
    return JSON.stringify(this.#live?.table.manifest.authProviders ?? []);
  }

  #deploymentOfWrites(): ServedDeployment | null {
    if (this.#writing?.table !== (this.deployments.active ?? undefined)) this.#writing = this.#newDeployment();
    return this.#writing;
  }

  #newDeployment(): ServedDeployment | null {
    const {active} = this.deployments;
    if (active === null) return null;
    const {id, timestampMs, seed} = active;
    const positions = new SourcePositions(path => this.deployments.sourceMap(active, path));
    return {code: {id, timestampMs, seed}, table: active, positions};
  }

  #newVerifier(): Verifier {
    return Verifier.of(this.#live?.table.manifest.authProviders ?? [], {
      fetch: this.#egress.fetch,
      clock: this.#clock,
      // For an unknown issuer, list the configured providers, unless errors are redacted.
      listProviders: !this.#redactErrors,
    });
  }

  #takeSettings(committed: CommittedEvent): void {
    const {event} = committed;
    assert(event.type === 'settings.changed', 'an event is of the type it says');
    this.settings.changed(event.settings as TenantFunctionSettings);
    // Closes open connections, because the new policy may forbid them.
    void this.#egress.close();
  }
}
