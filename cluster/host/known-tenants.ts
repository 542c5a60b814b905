/**
 * Tenants that this host serves to its clients: its supervisor and its routers have the entry. A host that makes or resumes a
 * tenant waits until the others have that, too, so that a client is served by any host once it has the answer.
 */
import Type from 'typebox';
import Value from 'typebox/value';
import {KNOWN_ASKS_MAX, KNOWN_MS} from '../limits.ts';
import {type TenantName, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {Members} from '../members/members.ts';
import type {NatsEngine} from '../nats/nats-engine.ts';
import type {KnownTenant} from './rebuilds.ts';

export type KnownTenantsParts = {
  readonly hosts: Pick<NatsEngine, 'askHost'>;
  readonly members: Pick<Members, 'serving'>;
  readonly clock: Clock;
  /** Name of this host. */
  readonly host: string;
};

/** Answered when the host has the tenant as it was in this epoch, or later. */
const KnownRequest = Type.Object({
  does: Type.Literal('known'),
  tenant: Type.String({maxLength: 128}),
  generation: Type.Integer({minimum: 0}),
  epoch: Type.Integer({minimum: 0}),
});

export class KnownTenants {
  readonly #parts: KnownTenantsParts;
  readonly #known = new Map<string, {readonly tenant: KnownTenant; readonly path: string; readonly epoch: number}>();
  /** Each looks again whether a tenant is known. */
  readonly #waiting = new Set<() => void>();

  constructor(parts: KnownTenantsParts) {
    this.#parts = parts;
  }

  /** @param path of its file. @param epoch of the entry that this host follows */
  add(tenant: KnownTenant, path: string, epoch: number): void {
    const token = tokenOf(tenant);
    this.#known.set(token, {tenant, path, epoch: Math.max(epoch, this.#known.get(token)?.epoch ?? 0)});
    for (const look of this.#waiting) look();
  }

  remove(tenant: TenantName): void {
    this.#known.delete(tokenOf(tenant));
  }

  /** Of the tenant's file; null: it has no directory here. */
  pathOf(tenant: TenantName): string | null {
    return this.#known.get(tokenOf(tenant))?.path ?? null;
  }

  all(): KnownTenant[] {
    return [...this.#known.values()].map(({tenant}) => tenant);
  }

  /** Resolves when all other hosts that serve have the tenant as it is in this epoch, or after `KNOWN_MS`. */
  async everywhere({id: tenant, generation}: TenantName, epoch: number): Promise<void> {
    const {hosts, members, host} = this.#parts;
    const request = {does: 'known', tenant, generation, epoch};
    const others = members.serving().filter(other => other.host !== host);
    await Promise.all(others.map(other => hosts.askHost(other.host, request, KNOWN_MS).catch(() => null)));
  }

  /** @returns null: it is another request */
  async answer(request: unknown): Promise<unknown> {
    if (!Value.Check(KnownRequest, request)) return null;
    const token = tokenOf({id: request.tenant, generation: request.generation});
    const isKnown = () => (this.#known.get(token)?.epoch ?? -1) >= request.epoch;
    if (!isKnown() && this.#waiting.size < KNOWN_ASKS_MAX) await this.#until(isKnown);
    return {is: isKnown()};
  }

  async #until(isKnown: () => boolean): Promise<void> {
    const known = Promise.withResolvers<void>();
    const look = () => {
      if (isKnown()) known.resolve();
    };
    this.#waiting.add(look);
    await Promise.race([known.promise, delay(this.#parts.clock, KNOWN_MS)]);
    this.#waiting.delete(look);
  }
}
