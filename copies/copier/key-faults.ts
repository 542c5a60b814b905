/**
 * Data keys of the repository that cannot be used, because they are damaged or lost. Their tenants wait, and all others go
 * on. The keys are tried again from time to time, because an operator can put them back.
 */
import type {BackupFault} from '../../shared/protocol/backups.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {SERVER} from '../repository/tenant-copies.ts';
import {KEYS_RETRY_MS} from './limits.ts';
import type {TenantCopy} from './tenant-copy.ts';

export type KeyFaultsParts = {
  copies: ReadonlyMap<string, TenantCopy>;
  now: () => number;
  /** Called once for each. */
  found: (tenant: string, fault: BackupFault) => void;
};

export class KeyFaults {
  readonly #parts: KeyFaultsParts;
  readonly #known = new Map<string, BackupFault>();
  #triedMs = 0;

  constructor(parts: KeyFaultsParts) {
    this.#parts = parts;
  }

  /** Of the server's own files, or of a tenant that the server does not have. Null: there is none. */
  get ofNoTenant(): BackupFault | null {
    for (const [tenant, fault] of this.#known) if (!this.#parts.copies.has(tenant)) return fault;
    return null;
  }

  get isOfServer(): boolean {
    return this.#known.has(SERVER);
  }

  /** The next check tries them again. */
  retry(): void {
    this.#triedMs = Number.NEGATIVE_INFINITY;
  }

  /** Before a round. @throws RepositoryError; StoreError */
  async check(writer: Pick<RepositoryWriter, 'faults' | 'newest' | 'retryFaults'>): Promise<void> {
    const nowMs = this.#parts.now();
    if (writer.faults.size > 0 && nowMs - this.#triedMs >= KEYS_RETRY_MS) {
      this.#triedMs = nowMs;
      await writer.retryFaults();
    }
    for (const [tenant, {message}] of writer.faults) {
      if (this.#known.has(tenant)) continue;
      const fault = {at: nowMs, kind: 'damaged', message};
      this.#known.set(tenant, fault);
      this.#parts.found(tenant, fault);
    }
    for (const tenant of this.#known.keys()) if (!writer.faults.has(tenant)) this.#known.delete(tenant);
    for (const copy of this.#parts.copies.values()) {
      const fault = this.#known.get(copy.tenant) ?? null;
      const newest = writer.newest(copy.tenant);
      if (copy.keyFault !== fault) copy.keyIs(fault, newest);
      else if (copy.position != null && newest === null) copy.forgotten();
    }
  }
}
