/**
 * The deployments of a tenant: accepted whole or refused whole, kept for rollback, one of them active.
 *
 *   upload ─▶ decode ─▶ analyse (thread) ─▶ check documents ─▶ fill indexes ─▶ one write: store, schema, active ─▶ serve
 *                └─────────────┴──────────────────┴── refused: every reason at once, nothing changed
 */
import type {Buffer} from 'node:buffer';
import {createHash, randomBytes} from 'node:crypto';
import {ServiceError} from '../../../shared/errors.ts';
import {DEPLOYMENT_CODE_BYTES_MAX, DEPLOYMENTS_KEEP} from '../../../shared/limits.ts';
import {DeploymentUploadBody} from '../../../shared/protocol/deployments.ts';
import type {DeploymentError, DeploymentUpload, DeploymentView, Manifest} from '../../../shared/protocol/functions.ts';
import type {Reply} from '../../commit/group.ts';
import type {Writer} from '../../commit/writer.ts';
import {type SchemaChanges, SchemaMismatch} from '../../schema/change.ts';
import type {Reader} from '../../storage/reader.ts';
import type {DeploymentRow} from '../../storage/statements.ts';
import {decodeBody, wireType} from '../../wire-type.ts';
import type {Environment} from '../environment.ts';
import {ActiveDeployment} from './active-deployment.ts';
import {analyze} from './analysis.ts';
import {checkModulePath, ManifestFault} from './manifest.ts';

export type DeploymentParts = {
  writer: Writer;
  reader: Reader;
  schemas: SchemaChanges;
  environment: Environment;
  clock: () => number;
};

const ACTIVE_KEY = 'active_deployment';
const uploadBody = wireType(DeploymentUploadBody);

export class Deployments {
  readonly #parts: DeploymentParts;
  readonly #listeners: (() => void)[] = [];
  #active: ActiveDeployment | null = null;
  /** Deploys run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: DeploymentParts) {
    this.#parts = parts;
    const {statements, catalog} = parts.writer;
    const id = statements.meta.get(ACTIVE_KEY);
    const row = id === undefined ? undefined : statements.deployment.get(Number(id));
    if (row !== undefined) this.#active = new ActiveDeployment(row, catalog.idCheck);
  }

  get active(): ActiveDeployment | null {
    return this.#active;
  }

  /** Called after another deployment became the active one, before any further write. */
  onActivated(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** @throws op.invalid_input 400 with every reason in `detail.errors` */
  upload(body: Buffer): Promise<Reply> {
    const upload = decodeBody(uploadBody, body) as DeploymentUpload;
    refuse(uploadErrors(upload));
    return this.#inTurn(() => this.#deploy(upload));
  }

  /** Makes a deployment of the history the active one. @throws op.not_found 404; op.invalid_input 400 */
  activate(id: string): Promise<Reply> {
    return this.#inTurn(async () => {
      const {statements} = this.#parts.writer;
      const row = /^\d{1,15}$/.test(id) ? statements.deployment.get(Number(id)) : undefined;
      if (row === undefined) throw new ServiceError('op.not_found', `there is no deployment ${id.slice(0, 40)}`);
      const manifest = JSON.parse(row.manifest) as Manifest;
      const nowMs = Math.floor(this.#parts.clock());
      await this.#install(manifest, writer => {
        writer.statements.deploymentActivated.run(nowMs, row.id);
        return row.id;
      });
      return {status: 200, body: JSON.stringify(this.#view(statements.deployment.get(row.id)!))};
    });
  }

  /** `{"deployments": [DeploymentView]}`, newest first */
  list(): string {
    const deployments = this.#parts.writer.statements.deployments.all().map(row => this.#view(row));
    return JSON.stringify({deployments});
  }

  /** `{"deployment": id | null, "functions": [FunctionEntry]}` of the active one */
  functions(): string {
    return JSON.stringify({deployment: this.#active?.id ?? null, functions: this.#active?.manifest.functions ?? []});
  }

  sourceMap(deployment: ActiveDeployment, path: string): string | null {
    const sha256 = deployment.files.get(path);
    return sha256 === undefined ? null : (this.#parts.writer.statements.code.get(sha256)?.source_map ?? null);
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change, change);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #deploy(upload: DeploymentUpload): Promise<Reply> {
    const {environment, clock} = this.#parts;
    const seed = randomBytes(16).toString('hex');
    const timestampMs = Math.floor(upload.modifiedMs);
    const {manifest, errors} = await analyze({upload, timestampMs, seed, env: environment.current});
    refuse(errors);
    if (upload.dryRun) {
      return {status: 200, body: JSON.stringify({dry_run: true, functions: manifest!.functions})};
    }
    const files = upload.files.map(({path, source, sourceMap}) => ({
      path,
      sha256: hashOf(source, sourceMap),
      source,
      sourceMap,
    }));
    const stored = files.map(({path, sha256}) => ({path, sha256}));
    const nowMs = Math.floor(clock());
    await this.#install(manifest!, writer => {
      for (const {sha256, source, sourceMap} of files) writer.statements.insertCode.run(sha256, source, sourceMap);
      const hash = hashOf(JSON.stringify(stored), null);
      const {lastInsertRowid} = writer.statements.insertDeployment.run(
        nowMs,
        nowMs,
        upload.message,
        JSON.stringify(manifest),
        JSON.stringify(stored),
        timestampMs,
        seed,
        hash,
      );
      return Number(lastInsertRowid);
    });
    return {
      status: 201,
      body: JSON.stringify(this.#view(this.#parts.writer.statements.deployment.get(this.#active!.id)!)),
    };
  }

  /** @param store writes what is new of the deployment and returns its id */
  async #install(manifest: Manifest, store: (writer: Writer) => number): Promise<void> {
    const {schemas, writer} = this.#parts;
    let id = 0;
    try {
      await schemas.deploy(manifest.schema, inGroup => {
        id = store(inGroup);
        inGroup.statements.setMeta.run(ACTIVE_KEY, id);
        inGroup.event({type: 'deployment.activated', id: String(id)});
        this.#forgetOld(inGroup, id);
      });
    } catch (caught) {
      if (!(caught instanceof SchemaMismatch)) throw caught;
      refuse(caught.lines.map(message => ({message, file: 'svc/schema', line: null})));
    }
    this.#active = new ActiveDeployment(writer.statements.deployment.get(id)!, writer.catalog.idCheck);
    for (const listener of this.#listeners) listener();
  }

  #forgetOld({statements}: Writer, active: number): void {
    const old = statements.deployments.all().slice(DEPLOYMENTS_KEEP);
    const forgotten = old.filter(({id}) => id !== active);
    for (const {id} of forgotten) statements.forgetDeployment.run(id);
    if (forgotten.length > 0) statements.forgetCode.run();
  }

  #view(row: DeploymentRow): DeploymentView {
    const {functions} = JSON.parse(row.manifest) as Manifest;
    return {
      id: row.id,
      created_at: row.created_at,
      activated_at: row.activated_at,
      active: row.id === this.#active?.id,
      message: row.message,
      functions: functions.length,
      hash: row.hash,
    };
  }
}

/** What can be said against an upload before its code runs. */
function uploadErrors({files, modules, schema, authConfig}: DeploymentUpload): DeploymentError[] {
  const errors: DeploymentError[] = [];
  const add = (message: string, file: string | null = null) => errors.push({message, file, line: null});
  const paths = new Set(files.map(file => file.path));
  if (paths.size < files.length) add('the bundle has two files with the same path');
  const bytes = files.reduce((sum, {source}) => sum + source.length, 0);
  if (bytes > DEPLOYMENT_CODE_BYTES_MAX) {
    add(`the code takes ${(bytes / 2 ** 20).toFixed(1)} MiB; the limit is ${DEPLOYMENT_CODE_BYTES_MAX / 2 ** 20} MiB`);
  }
  const entries = [...modules, ...(schema === null ? [] : [schema]), ...(authConfig === null ? [] : [authConfig])];
  for (const module of entries) {
    if (!paths.has(`${module}.js`)) add(`the bundle has no file for the module ${module}`, `svc/${module}`);
  }
  for (const module of modules) {
    try {
      checkModulePath(module);
    } catch (caught) {
      if (!(caught instanceof ManifestFault)) throw caught;
      add(caught.message, `svc/${module}`);
    }
  }
  return errors;
}

/** @throws op.invalid_input 400 when there are errors */
function refuse(errors: DeploymentError[]): void {
  if (errors.length === 0) return;
  const [{message}] = errors as [DeploymentError];
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  throw new ServiceError('op.invalid_input', `the deployment is refused: ${message}${more}`, {errors});
}

function hashOf(text: string, more: string | null): string {
  return createHash('sha256')
    .update(text)
    .update('\0')
    .update(more ?? '')
    .digest('hex');
}
