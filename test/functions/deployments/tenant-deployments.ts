/**
 * The deployments of a tenant without a service: a real file, real commit groups and a real analysis in its process. What a
 * deploy does to documents and indexes can be looked at between any two groups.
 */
import {Buffer} from 'node:buffer';
import {copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {onTestFinished} from 'vitest';
import {bundleProject} from '../../../cli/project/bundle.ts';
import {BackgroundWrites} from '../../../engine/commit/background.ts';
import type {Commit} from '../../../engine/commit/commit.ts';
import {CommitGroups} from '../../../engine/commit/group.ts';
import {Writer} from '../../../engine/commit/writer.ts';
import {BackFill} from '../../../engine/schema/back-fill.ts';
import {SchemaChanges} from '../../../engine/schema/change.ts';
import {Catalog} from '../../../engine/storage/catalog.ts';
import {openReader, openWriter} from '../../../engine/storage/database.ts';
import {digestOf} from '../../../engine/storage/file-digest.ts';
import {Reader} from '../../../engine/storage/reader.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {createLogger} from '../../../shared/log.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import type {
  BundleFile,
  DeployedView,
  DeploymentError,
  DeploymentUpload,
  DeploymentView,
  DryRunView,
  Manifest,
  SchemaDefinition,
} from '../../../shared/protocol/functions.ts';
import type {JournalEvent} from '../../../shared/protocol/journal.ts';
import {Deployments} from '../../../worker/functions/deployments/deployments.ts';
import {Settings} from '../../../worker/functions/settings.ts';
import {
  type Analysed,
  type AnalysedFile,
  type AnalysisOptions,
  analyze,
} from '../../../worker/runtime/analysis/analysis.ts';
import {decodeUpload} from '../../../worker/runtime/analysis/deployment-upload.ts';
import {Environment} from '../../../worker/runtime/environment.ts';
import {promptSync} from '../../harness/prompt-sync.ts';

const MAIN = fileURLToPath(new URL('../../../dist/analysis.js', import.meta.url));

/** What modules of the tests import; what follows it is on line 7. */
export const SERVER = `import {
  actionGeneric as action, defineSchema, defineTable, httpActionGeneric as httpAction, httpRouter,
  internalMutationGeneric as internalMutation, mutationGeneric as mutation, paginatedQueryGeneric as paginatedQuery,
  queryGeneric as query,
} from 'svc/server';
import {v} from 'svc/values';
`;

export class TenantDeployments {
  readonly #path: string;
  readonly #writerDb;
  readonly #readerDb;
  readonly #backFill: BackFill;
  readonly catalog: Catalog;
  readonly writer: Writer;
  readonly groups: CommitGroups;
  readonly schemas: SchemaChanges;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly deployments: Deployments;
  /** Instead of running modules: what they are said to be. Null: they are run. */
  manifest: Manifest | null = null;
  /** Smaller limits of the analysis. */
  analysis: AnalysisOptions = {};
  #clock = 1_800_000_000_000;

  constructor(path = newFile()) {
    this.#path = path;
    this.#writerDb = openWriter(path);
    this.#readerDb = openReader(path);
    this.catalog = Catalog.read(this.#writerDb);
    const clock = () => this.#clock++;
    this.writer = new Writer(this.#writerDb, this.catalog, clock);
    const log = createLogger({}, {write: () => undefined});
    const reader = new Reader(this.#readerDb, new Catalog(), {cachesRows: false, followsCatalog: true});
    this.groups = new CommitGroups({
      writer: this.writer,
      metrics: new WorkerMetrics(),
      log,
      stages: [{committed: commit => this.#committed(commit)}],
      sync: promptSync,
      snapshot: {hold: () => reader.hold(), advance: () => reader.endSnapshot()},
    });
    const background = new BackgroundWrites(this.groups, log, (_, error) => {
      throw error;
    });
    this.#backFill = new BackFill(this.catalog, background);
    this.schemas = new SchemaChanges(this.writer, reader, this.groups, background, this.#backFill);
    this.environment = new Environment(this.writer, this.groups);
    this.settings = new Settings(this.writer, this.groups, {put: () => Promise.resolve()});
    this.deployments = new Deployments({
      writer: this.writer,
      reader,
      schemas: this.schemas,
      environment: this.environment,
      groups: this.groups,
      analyze: async (body, task) => this.#said(body) ?? (await analyze(body, task, {main: MAIN, ...this.analysis})),
      node: {
        analyze: () => Promise.reject(new Error('no modules for Node')),
        share: () => Promise.resolve(),
        forget: () => Promise.resolve(),
      },
      clock,
    });
    onTestFinished(() => this.#close());
  }

  /** The tenant as another process finds it when this one is killed now. */
  async killed(): Promise<TenantDeployments> {
    const path = newFile();
    for (const suffix of ['', '-wal']) copyFileSync(this.#path + suffix, path + suffix);
    const next = new TenantDeployments(path);
    await next.schemas.resume();
    return next;
  }

  #committed({events}: Commit): void {
    for (const {event} of events) if (event.type === 'settings.changed') this.settings.changed(event.settings as never);
  }

  /** Deploys sources given as text. @param files below `svc/` */
  async deploy(
    files: Record<string, string>,
    change: Partial<DeploymentUpload> = {},
  ): Promise<DeployedView | DryRunView> {
    return this.upload({...(await uploadOf(files)), ...change});
  }

  upload(upload: DeploymentUpload): Promise<DeployedView | DryRunView> {
    return this.deployments.upload(Buffer.from(JSON.stringify(upload)), {kind: 'api', request_id: 'a request'});
  }

  /** Deploys nothing but a schema, without running code. */
  deploySchema(schema: SchemaDefinition | null, message: string | null = null): Promise<DeployedView | DryRunView> {
    this.manifest = {functions: [], routes: null, schema, authProviders: []};
    return this.upload({...EMPTY_UPLOAD, message});
  }

  /** A native write; resolves with the id. */
  insert(table: string, fields: Record<string, unknown>): Promise<string> {
    return this.groups.perform(writer => writer.insert(writer.table(table), fields, JSON.stringify(fields)));
  }

  async insertAll(table: string, documents: Record<string, unknown>[]): Promise<void> {
    await this.groups.perform(writer => {
      for (const fields of documents) writer.insert(writer.table(table), fields, JSON.stringify(fields));
    });
  }

  list(): DeploymentView[] {
    return this.deployments.list();
  }

  /** Indexes of a table that are not being dropped: `by_n: n (enabled)`. */
  indexes(table: string): string[] {
    const known = this.catalog.table(table)?.indexes ?? [];
    return known
      .filter(({state}) => state !== 'dropping')
      .map(({name, fields, state}) => `${name}: ${fields.join(', ')} (${state})`);
  }

  /** Entries of an index in the file. */
  entries(table: string, index: string): number {
    const number = this.catalog.table(table)!.indexes.find(({name}) => name === index)!.number;
    return this.count(`SELECT count(*) FROM index_entries WHERE index_number = ${number}`);
  }

  count(sql: string): number {
    return this.#writerDb.prepare(sql).pluck().get() as number;
  }

  /** What the journal says happened, oldest first; documents are left out. */
  events(): JournalEvent[] {
    const records = this.#writerDb.prepare('SELECT record FROM journal ORDER BY sequence').pluck().all() as string[];
    return records
      .flatMap(text => (JSON.parse(text) as {events: JournalEvent[]}).events)
      .filter(({type}) => !type.startsWith('document.'));
  }

  /** The whole journal as text. */
  journal(): string {
    return (this.#writerDb.prepare('SELECT record FROM journal').pluck().all() as string[]).join('\n');
  }

  #said(body: Buffer): Analysed | null {
    if (this.manifest === null) return null;
    const {modifiedMs, message, dryRun, development = false, files} = decodeUpload(body);
    return {
      upload: {modifiedMs, message, dryRun, development, node: null},
      manifest: this.manifest,
      files: each(files),
      close: () => undefined,
    };
  }

  async #close(): Promise<void> {
    this.#backFill.stop();
    await this.groups.idle();
    this.#readerDb.close();
    this.#writerDb.close();
  }
}

async function* each(files: readonly BundleFile[]): AsyncGenerator<AnalysedFile> {
  for (const {path, source, sourceMap} of files)
    yield {path, sha256: digestOf(source, sourceMap ?? ''), source, sourceMap};
}

export const EMPTY_UPLOAD: DeploymentUpload = {
  files: [],
  modules: [],
  schema: null,
  authConfig: null,
  modifiedMs: 0,
  message: null,
  dryRun: false,
};

/** As `svc deploy` makes it. @param files below `svc/` */
export async function uploadOf(files: Record<string, string>): Promise<DeploymentUpload> {
  const directory = newDirectory();
  for (const [path, source] of Object.entries({'../svc.json': '{}', ...files})) {
    const file = join(directory, 'svc', path);
    mkdirSync(dirname(file), {recursive: true});
    writeFileSync(file, source);
  }
  return await bundleProject(directory);
}

/** Why a deploy was refused; fails when it was not. */
export async function errorsOf(deploy: Promise<unknown>): Promise<DeploymentError[]> {
  const error = await refusalOf(deploy);
  return (error.detail as {errors: DeploymentError[]}).errors;
}

export async function refusalOf(change: Promise<unknown>): Promise<ServiceError> {
  try {
    await change;
  } catch (caught) {
    if (caught instanceof ServiceError) return caught;
    throw caught;
  }
  throw new Error('nothing was refused');
}

function newFile(): string {
  return join(newDirectory(), 'tenant.sqlite');
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-deployments-'));
  onTestFinished(() => rmSync(directory, {recursive: true, force: true}));
  return directory;
}
