/**
 * What this host does for `svc cluster rebuild`, when NATS has lost all data: it lists the files that it has, and begins the
 * logs of those tenants of which it has the newest file. The command decides which these are, and asks it.
 *
 *   the newest commit of the file as a base ──▶ the log begins with it ──▶ the file is at its place ──▶ the entry
 */
import {closeSync, openSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import Type from 'typebox';
import Value from 'typebox/value';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {FILE_ASK_MS, FILES_LISTED_MAX} from '../limits.ts';
import {Owned} from '../log/packages.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {type TenantName, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import {encodePlace} from '../owner/place.ts';
import {type Rebuilt, rebuildTenant} from '../owner/rebuild.ts';
import type {FileInspection, FileState} from '../standby/file-order.ts';
import type {HostPackages} from './host-packages.ts';
import {fileIn} from './lost-tails.ts';

/** The same for each rebuild: one that ended is begun again. */
export const REBUILD_NOTE = 'rebuild';

export type KnownTenant = TenantName & {readonly createdMs: number};

export type RebuildsParts = {
  readonly replicated: ReplicatedLog;
  readonly packages: Pick<HostPackages, 'putOwn'>;
  readonly clock: Clock;
  readonly host: string;
  /** Tenants that have a directory here. */
  readonly known: () => Iterable<KnownTenant>;
  readonly inspect: (tenant: TenantName, wish: FileInspection) => Promise<FileState | null>;
  readonly scratch: string;
  readonly signal: AbortSignal;
  readonly report: (sentence: string) => void;
};

export const RebuildRequest = Type.Union([
  /** Answered with a page of `ListedFiles`. */
  Type.Object({does: Type.Literal('files'), after: Type.Union([Type.Null(), Type.String({maxLength: 160})])}),
  /** Answered with a `RebuildAnswer`; `working`: request it again. @property epoch of the newest file of the tenant */
  Type.Object({
    does: Type.Literal('rebuild'),
    tenant: Type.String({maxLength: 128}),
    generation: Type.Integer({minimum: 0}),
    epoch: Type.Integer({minimum: 1}),
  }),
]);
export const ListedFiles = Type.Object({
  files: Type.Array(
    Type.Object({
      tenant: Type.String(),
      generation: Type.Integer(),
      place: Type.String(),
      commit: Type.Integer(),
      bytes: Type.Integer(),
    }),
  ),
  /** Null: there are no more. */
  next: Type.Union([Type.Null(), Type.String()]),
});
const OUTCOMES = ['rebuilt', 'there', 'refused', 'full', 'abandoned', 'failed', 'working'] as const;
export const RebuildAnswer = Type.Object({is: Type.Union(OUTCOMES.map(outcome => Type.Literal(outcome)))});

type Outcome = Rebuilt['kind'] | 'failed';

export class Rebuilds {
  readonly #parts: RebuildsParts;
  readonly #working = new Map<string, Promise<Outcome>>();

  constructor(parts: RebuildsParts) {
    this.#parts = parts;
  }

  /** @returns null: it is another request */
  async answer(request: unknown): Promise<unknown> {
    if (!Value.Check(RebuildRequest, request)) return null;
    if (request.does === 'files') return await this.#files(request.after);
    const tenant = [...this.#parts.known()].find(
      ({id, generation}) => id === request.tenant && generation === request.generation,
    );
    if (tenant === undefined) return {is: 'failed'};
    const token = tokenOf(tenant);
    const working = this.#working.get(token) ?? this.#rebuild(tenant, request.epoch);
    const soon = delay(this.#parts.clock, FILE_ASK_MS / 2).then(() => 'working' as const);
    const is = await Promise.race([working, soon]);
    // What became of it stays until it is answered.
    if (is !== 'working') this.#working.delete(token);
    return {is};
  }

  async #files(after: string | null) {
    const {known, inspect} = this.#parts;
    const tokens = [...known()].map(tenant => ({tenant, token: tokenOf(tenant)}));
    const left = tokens
      .filter(({token}) => after === null || token > after)
      .sort((a, b) => (a.token < b.token ? -1 : 1));
    const page = left.slice(0, FILES_LISTED_MAX);
    const files = [];
    for (const {tenant} of page) {
      const state = await inspect(tenant, {kind: 'find'});
      if (state === null || state.place === null) continue;
      const {place, commit, bytes} = state;
      files.push({tenant: tenant.id, generation: tenant.generation, place, commit, bytes});
    }
    return {files, next: left.length > page.length ? page.at(-1)!.token : null};
  }

  #rebuild(tenant: KnownTenant, epoch: number): Promise<Outcome> {
    const working = this.#rebuilt(tenant, epoch).catch((error: unknown): Outcome => {
      this.#parts.report(`the log of ${tenant.id} could not be rebuilt: ${(error as Error).message}`);
      return 'failed';
    });
    this.#working.set(tokenOf(tenant), working);
    return working;
  }

  async #rebuilt(tenant: KnownTenant, epoch: number): Promise<Outcome> {
    const {replicated, inspect, host, scratch, signal, report} = this.#parts;
    const base = join(scratch, `${tokenOf(tenant)}.rebuild`);
    const state = await inspect(tenant, {kind: 'write_newest', to: base});
    const file = fileIn({host, place: state?.place ?? '', commit: state?.commit ?? 0});
    if (file === null) return 'failed';
    const fd = openSync(base, 'r');
    try {
      const outcome = await rebuildTenant(replicated, tenant, {
        newest: {...file, position: {...file.position, epoch}},
        base: sourceOfFile(fd),
        note: REBUILD_NOTE,
        createdMs: tenant.createdMs,
        begun: async position => {
          await inspect(tenant, {kind: 'set_place', base, place: encodePlace(position, REBUILD_NOTE)});
          await this.#storePackages(tenant, position.epoch);
        },
        signal,
      });
      if (outcome.kind === 'rebuilt') report(`the log of ${tenant.id} begins again with the file of this host`);
      return outcome.kind;
    } finally {
      closeSync(fd);
      rmSync(base, {force: true});
    }
  }

  /** Its data is there without them. */
  async #storePackages(tenant: TenantName, epoch: number): Promise<void> {
    const {packages, signal, report} = this.#parts;
    try {
      await packages.putOwn(new Owned(tenant, epoch), signal);
    } catch (error) {
      report(`the external packages of ${tenant.id} could not be stored: ${(error as Error).message}; deploy it again`);
    }
  }
}
