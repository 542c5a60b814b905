/** A copier with spools made by hand, and a store that can be made to fail. */
import {hash} from 'node:crypto';
import {mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {Copier} from '../../../copies/copier/copier.ts';
import {RepositoryRefused} from '../../../copies/copier/open-repository.ts';
import {pointsOf} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryError} from '../../../copies/repository/repository-error.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {DirectoryStore} from '../../../copies/store/directory-store.ts';
import {StoreError} from '../../../copies/store/store-error.ts';
import {decodePosition, encodePosition} from '../../../engine/copies/position-file.ts';
import {createLogger} from '../../../shared/log.ts';
import {type History, SMALL, setBytes, setOf} from '../model.ts';
import {made, SERVER_A, scratch} from '../repository/fixture.ts';

/** A store that can be made to fail. */
export class SwitchedStore extends DirectoryStore {
  isGone = false;
  puts = 0;
  gets = 0;
  /** Large objects fail, of which this many were tried. */
  isFull = false;
  streams = 0;

  override put(...args: Parameters<DirectoryStore['put']>): Promise<void> {
    if (this.isGone) return Promise.reject(new StoreError('refused', 'it is gone'));
    this.puts += args[0].startsWith('packs/') || args[0].startsWith('manifests/') ? 1 : 0;
    return super.put(...args);
  }

  override putStream(...args: Parameters<DirectoryStore['putStream']>): Promise<void> {
    this.streams++;
    if (this.isFull) return Promise.reject(new StoreError('no_space', 'it is full'));
    return super.putStream(...args);
  }

  override get(...args: Parameters<DirectoryStore['get']>): ReturnType<DirectoryStore['get']> {
    this.gets++;
    return this.isGone ? Promise.reject(new StoreError('refused', 'it is gone')) : super.get(...args);
  }
}

/** A directory of a tenant, as its worker leaves it. */
export class FakeTenant {
  readonly tenant: string;
  readonly directory: string;
  readonly #spool: string;

  constructor(tenant: string) {
    this.tenant = tenant;
    this.directory = join(scratch(), tenant);
    this.#spool = join(this.directory, 'spool');
    mkdirSync(this.#spool, {recursive: true});
    writeFileSync(join(this.directory, 'tenant.sqlite'), '');
  }

  path(name: string): string {
    return join(this.#spool, name);
  }

  /** @returns its SHA-512 */
  package(bytes: Buffer): string {
    const sha512 = hash('sha512', bytes);
    mkdirSync(join(this.directory, 'packages'), {recursive: true});
    writeFileSync(join(this.directory, 'packages', `${sha512}.tgz`), bytes);
    return sha512;
  }

  has(name: string): boolean {
    return readdirSync(this.#spool).includes(name);
  }

  get confirmed(): number | null {
    return this.has('confirmed') ? decodePosition(readFileSync(this.path('confirmed'), 'utf8'), '').commit : null;
  }

  base(commit: number, timeline?: string, history: History = SMALL): this {
    const of = {first: 0, last: commit, ...(timeline === undefined ? {} : {timeline})};
    for (const name of readdirSync(this.#spool)) if (name !== 'confirmed') rmSync(this.path(name));
    writeFileSync(this.path('position'), encodePosition(setOf(history, of).after));
    writeFileSync(this.path('base.set'), setBytes(history, of));
    return this;
  }

  /** As a worker that begins a base does: what was confirmed belongs to what was before. */
  begun(): this {
    rmSync(this.path('confirmed'), {force: true});
    return this;
  }

  set(first: number, last: number, bytes: Buffer = setBytes(SMALL, {first, last})): this {
    writeFileSync(this.path(`${String(last).padStart(16, '0')}.set`), bytes);
    return this;
  }
}

type Running = {
  copier: Copier;
  store: SwitchedStore;
  repository: Repository;
  basesDue: string[];
  timelinesDue: string[];
  /** Lines of the level `warn` and above. */
  log: string[];
  /** The same repository in another process. */
  reopened: () => Promise<Repository>;
  /** Resolves when it has ended. */
  end: () => Promise<void>;
};

/** @param earlier whose repository is used */
export async function running(
  tenants: FakeTenant[],
  now: () => number = Date.now,
  earlier: Running | null = null,
): Promise<Running> {
  const first = earlier === null ? await made(new SwitchedStore(join(scratch(), 'repository'))) : null;
  const store = earlier?.store ?? first!.store;
  const reopened = earlier?.reopened ?? (() => Repository.open(store, first!.key));
  const repository = first?.repository ?? (await reopened());
  const [basesDue, timelinesDue]: [string[], string[]] = [[], []];
  const log: string[] = [];
  const copier = new Copier({
    settings: {everyMs: 5, spoolBytesMax: 2 ** 28, tenantBytesMax: 0},
    open: () => open(repository),
    log: createLogger({process: 'copier'}, {level: 'warn', format: 'json', write: line => log.push(line)}),
    now,
    lastSuccessMs: null,
    opened: () => undefined,
    baseDue: tenant => basesDue.push(tenant),
    timelineDue: tenant => timelinesDue.push(tenant),
    succeeded: () => undefined,
  });
  for (const {tenant, directory} of tenants) copier.tenantIs({tenant, directory, isAwake: true});
  const done = copier.work();
  const end = async (): Promise<void> => {
    copier.close();
    await done;
  };
  onTestFinished(end);
  return {copier, store: store as SwitchedStore, repository, basesDue, timelinesDue, log, reopened, end};
}

async function open(repository: Repository): Promise<RepositoryWriter> {
  return RepositoryWriter.open(repository, SERVER_A).catch((caught: Error) => {
    const holder = caught instanceof RepositoryError ? caught.holder : null;
    if (holder === null) throw caught;
    throw new RepositoryRefused('locked', caught.message, {isOwn: holder.serverId === SERVER_A.serverId, holder});
  });
}

export async function commitsOf(repository: Repository, tenant: string): Promise<[number, number][]> {
  const {timelines} = await repository.copies(tenant);
  return timelines.flatMap(one => pointsOf(one).map(({first, last}): [number, number] => [first, last]));
}
