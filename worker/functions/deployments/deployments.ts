/**
 * The deployments of a tenant. Each is accepted or refused as a whole and kept for rollback; one is active.
 *
 *   upload ─▶ decode, analyse (process) ─▶ store code, in slices ─▶ check documents ─▶ fill indexes ─▶ one small write ─▶ serve
 *                       └───────────────────────────────────────────────────┴── refused: every reason at once
 *
 * Code is stored by its hash, so storing it has no visible effect. Code that a refused or interrupted deploy left
 * behind is deleted afterwards.
 */

import type {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import type Database from 'better-sqlite3';
import {type Cause, SYSTEM} from '../../../engine/commit/cause.ts';
import type {CommitGroups} from '../../../engine/commit/group.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {ROWS_SUMMED_MAX} from '../../../engine/limits.ts';
import {jobsByFunction} from '../../../engine/scheduler/named-functions.ts';
import type {SchemaChanges} from '../../../engine/schema/change.ts';
import {SchemaMismatch} from '../../../engine/schema/deploy.ts';
import {schemaChanges} from '../../../engine/schema/deploy-changes.ts';
import {reading, storageDamaged} from '../../../engine/storage/damage.ts';
import {digestOf} from '../../../engine/storage/file-digest.ts';
import {storedMeta} from '../../../engine/storage/meta.ts';
import type {Reader} from '../../../engine/storage/reader.ts';
import {checkedDeployment, manifestCrc, rowChecksum} from '../../../engine/storage/row-checksum.ts';
import {checkSums} from '../../../engine/storage/row-sums.ts';
import type {DeploymentRow} from '../../../engine/storage/statements.ts';
import {ACTIVE_KEY, journalDeployment} from '../../../engine/storage/stored-settings.ts';
import {assert} from '../../../shared/assert.ts';
import {notFound, overloaded, ServiceError} from '../../../shared/errors.ts';
import type {
  ActivationPreview,
  DeployedView,
  DeploymentError,
  DeploymentView,
  DeployProgress,
  DryRunView,
  FunctionEntry,
  Manifest,
  NodePart,
} from '../../../shared/protocol/functions.ts';
import {type Check, compileValidator, type IdCheck} from '../../../shared/values/validate.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';
import type {Analysed, AnalysedFile} from '../../runtime/analysis/analysis.ts';
import type {AnalysisTask, UploadFacts} from '../../runtime/analysis/analysis-message.ts';
import {DeploysUnderWay, type TellStep} from '../../runtime/analysis/deploy-progress.ts';
import {refusal} from '../../runtime/analysis/deployment-upload.ts';
import type {NodeAnalysisOptions, NodeModules, NodeUpload} from '../../runtime/analysis/node-modules.ts';
import type {FunctionTable} from '../../runtime/call.ts';
import type {Environment} from '../../runtime/environment.ts';
import {DEPLOYMENT_SLICE_CHARS, DEPLOYMENTS_KEEP, DEPLOYS_WAITING_MAX} from '../limits.ts';
import {failingCrons, missingFunctions} from './affected-work.ts';
import {DeploymentFiles} from './deployment-files.ts';

export type DeploymentParts = {
  writer: Writer;
  /** Committed state, for listings. */
  reader: Reader;
  groups: CommitGroups;
  schemas: SchemaChanges;
  environment: Environment;
  analyze: (body: Buffer, task: AnalysisTask) => Promise<Analysed>;
  /** For modules that run in Node. */
  node: NodeModules;
  clock: () => number;
};

type StoredCode = {list: string; nodeFiles: ReadonlyMap<string, AnalysedFile>};

export class Deployments {
  readonly #parts: DeploymentParts;
  readonly #progress: DeploysUnderWay;
  readonly files: DeploymentFiles;
  readonly #committed: Database.Statement<[], DeploymentRow>;
  readonly #committedActive: Database.Statement<[string], number>;
  #active: ActiveDeployment | null = null;
  /**
   * Ids are not reused even when the write that took one is rolled back, because realms are cached by deployment id.
   */
  #lastId: number;
  /** Deploys run one after another. */
  #last: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  /** Initially true: the previous process may have been killed during a deploy. */
  #mayHoldOrphans = true;

  constructor(parts: DeploymentParts) {
    this.#parts = parts;
    this.#progress = new DeploysUnderWay(parts.clock);
    const {statements, catalog} = parts.writer;
    const {db} = parts.reader;
    this.files = new DeploymentFiles(parts.reader);
    this.#committed = db.prepare('SELECT * FROM deployments ORDER BY id DESC');
    this.#committedActive = db.prepare<[string], number>('SELECT value FROM meta WHERE key = ?').pluck();
    this.#lastId = statements.lastDeployment.get() ?? 0;
    const id = storedMeta(parts.writer.db, ACTIVE_KEY);
    if (id === undefined) return;
    const row = statements.deployment.get(Number(id));
    if (row === undefined) throw storageDamaged({check: 'rows', stored: `the active deployment ${id} is missing`});
    this.#active = new ActiveDeployment(checkedDeployment(row), catalog.idCheck);
  }

  /**
   * The deployment that the next write runs on. A commit with `deployment.activated` makes it visible to everything
   * else.
   */
  get active(): ActiveDeployment | null {
    return this.#active;
  }

  /** @throws op.invalid_input 400 with every reason in `detail.errors`; session.overloaded 503 */
  async upload(body: Buffer, cause: Cause): Promise<DeployedView | DryRunView> {
    const {request_id: requestId = ''} = cause;
    return await this.#progress.during(requestId, tell => this.#inTurn(() => this.#deploy(body, tell, cause)));
  }

  /** Uploads under way. */
  get underWay(): DeployProgress[] {
    return this.#progress.all;
  }

  /** Makes a deployment of the history active. @throws op.not_found 404; op.invalid_input 400 */
  activate(id: string, cause: Cause = SYSTEM): Promise<DeploymentView> {
    return this.#inTurn(async () => {
      const {statements} = this.#parts.writer;
      const row = this.#stored(id);
      const manifest = manifestOf(row);
      const nowMs = Math.floor(this.#parts.clock());
      await this.#install(
        manifest,
        writer => {
          const checksum = rowChecksum('deployments', {...row, activated_at: nowMs});
          writer.statements.deploymentActivated.run(nowMs, checksum, row.id);
          return row.id;
        },
        cause,
      );
      return view(statements.deployment.get(row.id)!, true);
    });
  }

  /** What `activate` would do now; changes nothing. @throws op.not_found 404 */
  preview(id: string): Promise<ActivationPreview> {
    return this.#inTurn(async () => {
      const {schemas, writer, reader, environment} = this.#parts;
      const row = this.#stored(id);
      const {schema, functions} = manifestOf(row);
      const changes = schemaChanges(writer.catalog, schema);
      const {errors, found: builds = []} = await fits(schemas.check(schema));
      const variables = await this.files.variables(id);
      return {
        deployment: row.id,
        active: this.#active?.id ?? null,
        errors,
        changes,
        builds,
        missing_functions: missingFunctions(await jobsByFunction(reader), functions),
        failing_crons: failingCrons(reader, writer.catalog, schema),
        missing_variables: variables.filter(name => !Object.hasOwn(environment.current, name)),
      };
    });
  }

  #stored(id: string): DeploymentRow {
    const row = /^\d{1,15}$/.test(id) ? this.#parts.writer.statements.deployment.get(Number(id)) : undefined;
    if (row === undefined) throw notFound(`there is no deployment ${id.slice(0, 40)}`);
    return row;
  }

  /** Newest first. */
  list(): DeploymentView[] {
    const {reader} = this.#parts;
    reader.inSnapshot();
    checkSums(reader.db, 'deployments', ROWS_SUMMED_MAX);
    const active = this.#committedActive.get(ACTIVE_KEY);
    const rows = reading(() => this.#committed.all());
    return rows.map(row => view(checkedDeployment(row), row.id === active));
  }

  /** The part of a deployment that runs in Node; null: it has none. */
  nodePart(id: number): NodePart | null {
    const row = this.#parts.writer.statements.deployment.get(id);
    return row === undefined ? null : (manifestOf(row).node ?? null);
  }

  sourceMap(deployment: ActiveDeployment, path: string): string | null {
    const sha256 = deployment.files.get(path);
    return sha256 === undefined ? null : (this.#parts.writer.statements.code.get(sha256)?.source_map ?? null);
  }

  async #inTurn<T>(change: () => Promise<T>): Promise<T> {
    if (this.#underWay > DEPLOYS_WAITING_MAX) throw overloaded('too many deploys are waiting; try again shortly');
    this.#underWay++;
    const turn = this.#last.then(change, change).finally(() => this.#underWay--);
    this.#last = turn.catch(() => undefined).then(() => this.#forgetOrphans());
    return await turn;
  }

  async #deploy(body: Buffer, tell: TellStep, cause: Cause): Promise<DeployedView | DryRunView> {
    const {environment, schemas, writer, analyze} = this.#parts;
    const seed = randomBytes(16).toString('hex');
    const env = environment.current;
    tell('checking');
    const {upload, manifest: found, files, close} = await analyze(body, {seed, env});
    try {
      tell('storing');
      const {list, nodeFiles} = await this.#storeCode(files, upload);
      const manifest = upload.node === null ? found : await this.#withNode(found, upload.node, nodeFiles, {env, tell});
      tell('activating');
      const changes = schemaChanges(writer.catalog, manifest.schema);
      if (upload.dryRun) {
        await fitting(schemas.check(manifest.schema));
        return {dry_run: true, functions: manifest.functions, changes};
      }
      const store = (inGroup: Writer) => this.#store(inGroup, upload, manifest, list, seed);
      const id = await this.#install(manifest, store, cause);
      await this.#parts.node.forget(() => this.nodeParts());
      return {...view(writer.statements.deployment.get(id)!, true), changes};
    } catch (caught) {
      this.#mayHoldOrphans = true;
      throw caught;
    } finally {
      close();
    }
  }

  /** The Node parts of all stored deployments. */
  nodeParts(): NodePart[] {
    const rows = this.#parts.writer.db.prepare<[], DeploymentRow>('SELECT * FROM deployments').all();
    return rows.flatMap(row => manifestOf(row).node ?? []);
  }

  /** The manifest with what the modules for Node export. */
  async #withNode(
    manifest: Manifest,
    upload: NodeUpload,
    files: ReadonlyMap<string, AnalysedFile>,
    how: NodeAnalysisOptions,
  ): Promise<Manifest> {
    const {part, functions} = await this.#parts.node.analyze(upload, files, how);
    const all = [...manifest.functions, ...functions].sort((one, other) => compare(one.module, other.module));
    return {...manifest, functions: all, node: part};
  }

  /**
   * Stores one slice at a time, so that other work can run in between. A dry run stores nothing.
   * @returns the deployment's list of files, and the part of them for Node
   */
  async #storeCode(files: AsyncIterable<AnalysedFile>, {node, dryRun}: UploadFacts): Promise<StoredCode> {
    const nodePaths = new Set(node?.files);
    const nodeFiles = new Map<string, AnalysedFile>();
    const stored: {path: string; sha256: string}[] = [];
    const slice: AnalysedFile[] = [];
    let chars = 0;
    const flush = async () => {
      const rows = slice.splice(0);
      chars = 0;
      await this.#parts.groups.perform(writer => {
        for (const {sha256, source, sourceMap} of rows) {
          const {changes} = writer.statements.insertCode.run(sha256, source, sourceMap);
          if (changes > 0) writer.grew(source.length + (sourceMap?.length ?? 0));
        }
      });
    };
    for await (const file of files) {
      if (nodePaths.has(file.path)) nodeFiles.set(file.path, file);
      if (dryRun) continue;
      stored.push({path: file.path, sha256: file.sha256});
      slice.push(file);
      chars += file.source.length + (file.sourceMap?.length ?? 0);
      if (chars >= DEPLOYMENT_SLICE_CHARS) await flush();
    }
    if (slice.length > 0) await flush();
    return {list: JSON.stringify(stored), nodeFiles};
  }

  /** Deletes code that no deployment uses: left by a refused deploy, or by one that a process's end cut short. */
  async #forgetOrphans(): Promise<void> {
    if (!this.#mayHoldOrphans) return;
    try {
      await this.#parts.groups.perform(({statements}) => statements.forgetCode.run());
      this.#mayHoldOrphans = false;
    } catch (caught) {
      // A full disk or a full queue must not hide the deploy's outcome; the next deploy deletes the orphans.
      if (!(caught instanceof ServiceError)) throw caught;
    }
  }

  /** @returns its id */
  #store({statements}: Writer, upload: UploadFacts, manifest: Manifest, list: string, seed: string): number {
    const id = ++this.#lastId;
    const nowMs = Math.floor(this.#parts.clock());
    const text = JSON.stringify(manifest);
    const row = {
      id,
      created_at: nowMs,
      activated_at: nowMs,
      message: upload.message,
      manifest: text,
      files: list,
      modified_ms: Math.floor(upload.modifiedMs),
      seed,
      hash: digestOf(list),
      development: upload.development ? 1 : 0,
      manifest_crc: manifestCrc(text),
    } as const;
    statements.insertDeployment.run({...row, checksum: rowChecksum('deployments', row)});
    return id;
  }

  /** @param store writes the new rows of the deployment and returns its id */
  async #install(manifest: Manifest, store: (writer: Writer) => number, cause: Cause): Promise<number> {
    if (manifest.node !== undefined) await this.#parts.node.share(manifest.node);
    let id = 0;
    const installed = this.#parts.schemas.deploy(
      manifest.schema,
      inGroup => {
        id = store(inGroup);
        inGroup.statements.setMeta.run(ACTIVE_KEY, id);
        const row = inGroup.statements.deployment.get(id);
        assert(row !== undefined, `deployment ${id} is stored`);
        inGroup.event({type: 'deployment.activated', id: String(id), deployment: journalDeployment(row)});
        this.#forgetOld(inGroup, id);
        this.#become(inGroup, id);
      },
      cause,
    );
    await fitting(installed);
    return id;
  }

  /** Later writes of the same group already run on the new code. */
  #become(writer: Writer, id: number): void {
    const before = this.#active;
    const row = writer.statements.deployment.get(id);
    assert(row !== undefined, `deployment ${id} is stored`);
    writer.onRollback(() => {
      this.#active = before;
    });
    this.#active = new ActiveDeployment(row, writer.catalog.idCheck);
  }

  /**
   * Development deployments are deleted first, so that after a day of saves the last good deployment is still there for
   * a rollback. The deployment that was just replaced stays until the next time, because calls of it are still under
   * way.
   */
  #forgetOld(writer: Writer, active: number): void {
    const {statements} = writer;
    const old = statements.deploymentIdsToKeep.all().slice(DEPLOYMENTS_KEEP);
    const forgotten = old.filter(id => id !== active && id !== this.#active?.id);
    for (const id of forgotten) {
      statements.forgetDeployment.run(id);
      writer.event({type: 'deployment.forgotten', id: String(id)});
    }
    if (forgotten.length > 0) statements.forgetCode.run();
  }
}

function manifestOf(row: DeploymentRow): Manifest {
  return JSON.parse(checkedDeployment(row).manifest) as Manifest;
}

/** In code unit order. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function view(row: DeploymentRow, active: boolean): DeploymentView {
  const {functions} = JSON.parse(row.manifest) as Manifest;
  return {
    id: row.id,
    created_at: row.created_at,
    activated_at: row.activated_at,
    active,
    message: row.message,
    development: row.development === 1,
    functions: functions.length,
    hash: row.hash,
  };
}

/** @throws op.invalid_input 400 when documents do not fit the schema */
async function fitting(change: Promise<unknown>): Promise<void> {
  const {errors} = await fits(change);
  if (errors.length > 0) throw refusal(errors);
}

/** @returns `errors`: the documents that do not fit the schema, one per table */
async function fits<T>(change: Promise<T>): Promise<{errors: DeploymentError[]; found?: T}> {
  try {
    return {errors: [], found: await change};
  } catch (caught) {
    if (!(caught instanceof SchemaMismatch)) throw caught;
    return {errors: caught.lines.map(message => ({message, file: 'svc/schema', line: null}))};
  }
}

/** The deployment in use: its functions by path, with validators compiled on first use. */
export class ActiveDeployment implements FunctionTable {
  readonly id: number;
  readonly manifest: Manifest;
  readonly byPath: ReadonlyMap<string, FunctionEntry>;
  /** Path in the bundle → hash of the stored code. */
  readonly files: ReadonlyMap<string, string>;
  /** The deployment timestamp, epoch milliseconds. */
  readonly timestampMs: number;
  readonly seed: string;
  readonly #ids: IdCheck;
  readonly #args = new Map<string, Check>();
  readonly #returns = new Map<string, Check>();

  constructor({id, manifest, files, modified_ms, seed}: DeploymentRow, ids: IdCheck) {
    this.id = id;
    this.manifest = JSON.parse(manifest) as Manifest;
    this.byPath = new Map(this.manifest.functions.map(entry => [entry.path, entry]));
    this.files = new Map(
      (JSON.parse(files) as {path: string; sha256: string}[]).map(({path, sha256}) => [path, sha256]),
    );
    this.timestampMs = modified_ms;
    this.seed = seed;
    this.#ids = ids;
  }

  argsValidator(entry: FunctionEntry): Check | null {
    return this.#compiled(this.#args, entry.path, entry.args);
  }

  returnsValidator(entry: FunctionEntry): Check | null {
    return this.#compiled(this.#returns, entry.path, entry.returns);
  }

  #compiled(known: Map<string, Check>, path: string, json: ValidatorJson | null): Check | null {
    if (json === null) return null;
    let check = known.get(path);
    if (check === undefined) {
      check = compileValidator(json, this.#ids);
      known.set(path, check);
    }
    return check;
  }
}
