/**
 * Removes what a generation of a tenant has in the log of the cluster once there is no such tenant: it was deleted, or could
 * not be made of a file. A small record notes it beforehand, so a host that ends leaves the rest to the others.
 *
 *   noted ──the tenant is there─────────────────────────────────▶ the note is removed
 *     └──it was deleted, or will never be there──▶ nothing is left ──▶ the note is removed
 *
 * A note is that of its host until this ends. Then the first host by name decides, and makes sure that no host which was
 * taken for ended can still make the tenant.
 */
import Type from 'typebox';
import type {Logger} from '../../shared/log.ts';
import {FORGET_AFTER_MS, FORGET_ATTEMPTS, LEFTOVERS_AT_ONCE, LEFTOVERS_POLL_MS} from '../limits.ts';
import {forgetTenant} from '../log/forget.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {decodeStored} from '../log/stored-json.ts';
import {type TenantName, tenantOfToken, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import {isHostName} from '../members/member-record.ts';
import type {Members} from '../members/members.ts';
import type {TenantEntries} from '../ownership/tenant-entries.ts';
import {isSameOwner, type Owner} from '../ownership/tenant-record.ts';

const PREFIX = 'leftover.';
const FORMAT = 1;
const Note = Type.Object(
  {
    format: Type.Literal(FORMAT),
    host: Type.Refine(Type.String({maxLength: 32}), isHostName),
    /** 0: it was written before its host was a member. */
    incarnation: Type.Integer({minimum: 0}),
  },
  {additionalProperties: false},
);

export type LeftoversParts = {
  readonly replicated: Pick<ReplicatedLog, 'tenant' | 'bases' | 'packages' | 'records'>;
  readonly entries: Pick<TenantEntries, 'bury'>;
  readonly members: Pick<Members, 'serving'>;
  readonly clock: Clock;
  readonly self: () => Owner;
  /** A host has its files: its entry was there, and servers with older stores have lost it. */
  readonly isKnown: (tenant: TenantName) => boolean;
  /** Nothing is left of it but the last record of its log. */
  readonly onGone: (tenant: TenantName) => void;
  readonly log: Pick<Logger, 'warn'>;
  readonly signal: AbortSignal;
};

export class Leftovers {
  readonly #parts: LeftoversParts;
  /** Tokens of those that this process makes or removes. */
  readonly #held = new Set<string>();

  constructor(parts: LeftoversParts) {
    this.#parts = parts;
  }

  /**
   * Call it before the tenant is made of a file, or deleted, and one of the others afterwards. What is not `noted` is not begun.
   * @throws EngineError
   */
  async note(tenant: TenantName): Promise<'noted' | 'full' | 'abandoned'> {
    const {replicated, self, signal} = this.#parts;
    const token = tokenOf(tenant);
    const note = Buffer.from(JSON.stringify({format: FORMAT, ...self()}));
    this.#held.add(token);
    try {
      for (;;) {
        const before = await replicated.records.get(PREFIX + token);
        const outcome = await replicated.records.set(PREFIX + token, note, before?.revision ?? 0, signal);
        const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
        if (kind === 'stored') return 'noted';
        // Conflict: another host has noted the same, or has removed its note.
        if (kind === 'conflict') continue;
        this.#held.delete(token);
        return kind;
      }
    } catch (error) {
      this.#held.delete(token);
      throw error;
    }
  }

  /** It is not known whether the tenant is there: its entry says so when notes are read. */
  unknown(tenant: TenantName): void {
    this.#held.delete(tokenOf(tenant));
  }

  /** The tenant is there. */
  async made(tenant: TenantName): Promise<void> {
    try {
      await this.#erase(tenant);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
    }
    // A note that is still there is removed when notes are read.
    this.#held.delete(tokenOf(tenant));
  }

  /** There is no such tenant any more: removes all of it, when its owner has had the time to close it. */
  async forget(tenant: TenantName): Promise<void> {
    const {replicated, clock, onGone, log, signal} = this.#parts;
    const token = tokenOf(tenant);
    this.#held.add(token);
    for (let left = FORGET_ATTEMPTS; left > 0 && !signal.aborted; left--) {
      await delay(clock, FORGET_AFTER_MS);
      try {
        if (!(await forgetTenant(replicated, tenant, signal))) continue;
        await this.#erase(tenant);
        onGone(tenant);
        break;
      } catch (error) {
        if (!(error instanceof EngineError || error instanceof LogError)) throw error;
        log.warn('a deleted tenant is still in the log', {tenant: tenant.id, error});
      }
    }
    this.#held.delete(token);
  }

  /** Looks for notes whose hosts have ended, and for own ones that nothing was made of. */
  async run(): Promise<void> {
    const {replicated, clock, log, signal} = this.#parts;
    while (!signal.aborted) {
      await delay(clock, LEFTOVERS_POLL_MS);
      try {
        const found: TenantName[] = [];
        for (const [token, value] of await replicated.records.list(PREFIX)) {
          const tenant = this.#isOurs(token, value) ? tenantOfToken(token) : null;
          if (tenant !== null && (await this.#isLeft(tenant))) found.push(tenant);
          if (found.length === LEFTOVERS_AT_ONCE) break;
        }
        await Promise.all(found.map(tenant => this.forget(tenant)));
      } catch (error) {
        if (!(error instanceof EngineError || error instanceof LogError)) throw error;
        log.warn('what is left of deleted tenants could not be read', {error});
      }
    }
  }

  async #erase(tenant: TenantName): Promise<void> {
    const {records} = this.#parts.replicated;
    const key = PREFIX + tokenOf(tenant);
    const found = await records.get(key);
    if (found !== null) await records.erase(key, found.revision);
  }

  #isOurs(token: string, value: Buffer): boolean {
    const {members, self} = this.#parts;
    const maker = this.#makerOf(token, value);
    if (maker === null) return false;
    const serving = members.serving();
    // A host that is no member decides nothing.
    if (this.#held.has(token) || !serving.some(member => isSameOwner(self(), ownerOf(member)))) return false;
    if (isSameOwner(maker, self())) return true;
    return serving[0]!.host === self().host && !serving.some(member => isSameOwner(maker, ownerOf(member)));
  }

  #makerOf(token: string, value: Buffer): Owner | null {
    try {
      const {host, incarnation} = decodeStored(Note, value, `the note of what is left of ${token}`);
      return {host, incarnation};
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.#parts.log.warn(error.message);
      return null;
    }
  }

  /** Whether there is no such tenant, and never will be. */
  async #isLeft(tenant: TenantName): Promise<boolean> {
    const {entries, isKnown} = this.#parts;
    const is = await entries.bury(tenant, isKnown(tenant));
    if (is === 'there') await this.made(tenant);
    return is === 'gone';
  }
}

function ownerOf({host, record}: ReturnType<Members['serving']>[number]): Owner {
  return {host, incarnation: record.incarnation};
}
