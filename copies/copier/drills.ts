/** The copier's part of a drill: restores a tenant in a thread of its own, records proofs, and knows the last ones. */
import {unavailable} from '../../shared/errors.ts';
import type {CopierSettings, DrilledTenant} from '../../shared/ipc/copier.ts';
import type {RestoredCopy} from '../../shared/ipc/drill.ts';
import type {BackupProof} from '../../shared/protocol/backups.ts';
import {proofOf, record} from '../drill/drill.ts';
import {faultOf, type Proof} from '../drill/proof.ts';
import {READS_AT_ONCE} from '../limits.ts';
import type {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import {inBatches} from '../store/batches.ts';
import {restoreInThread} from './restores.ts';

export class Drills {
  readonly #settings: Pick<CopierSettings, 'repository' | 'keyFile'>;
  /** @returns null: it is not open */
  readonly #repository: () => Repository | null;
  /** Of each tenant that a status has named. Null: there is none. */
  readonly #proofs = new Map<string, BackupProof | null>();
  #isReading = false;

  constructor(settings: Pick<CopierSettings, 'repository' | 'keyFile'>, repository: () => Repository | null) {
    this.#settings = settings;
    this.#repository = repository;
  }

  /** @throws session.worker_unavailable 503; StoreError */
  async tenants(): Promise<string[]> {
    return await this.#opened().tenants();
  }

  /** Makes the tenant's file at `path`, unless its copy is at fault. @throws session.worker_unavailable 503 */
  async restore(tenant: string, path: string, withinMs: number): Promise<RestoredCopy> {
    const {repository, keyFile} = this.#settings;
    return await restoreInThread({repository, keyFile, tenant, target: null, path, packages: null, withinMs});
  }

  /** @returns whether the tenant is proven. @throws session.worker_unavailable 503; StoreError */
  async record({tenant, startedMs, copy, checked}: DrilledTenant): Promise<boolean> {
    const proof = proofOf(tenant, startedMs, copy, checked);
    await record(this.#opened(), proof);
    this.#proofs.set(tenant, shown(proof));
    return proof.passed;
  }

  /** Null: there is none, or it was not read yet: it will be. */
  lastProof(tenant: string): BackupProof | null {
    return this.#proofs.get(tenant) ?? null;
  }

  /** Reads the proofs of these tenants, so that a later status has them. A status never waits for the store. */
  learn(tenants: readonly string[]): void {
    const repository = this.#repository();
    const unknown = tenants.filter(tenant => !this.#proofs.has(tenant));
    if (this.#isReading || repository === null || unknown.length === 0) return;
    this.#isReading = true;
    void inBatches(unknown, READS_AT_ONCE, async tenant => {
      // That of a tenant whose data key cannot be used is read again.
      const proof = (await repository.newestProof(tenant).catch(unlessDamaged)) as Proof | null | undefined;
      if (proof !== undefined) this.#proofs.set(tenant, proof === null ? null : shown(proof));
    })
      .catch(() => undefined) // the next status tries again
      .finally(() => {
        this.#isReading = false;
      });
  }

  #opened(): Repository {
    const repository = this.#repository();
    if (repository === null) throw unavailable('the repository is not open');
    return repository;
  }
}

function unlessDamaged(caught: unknown): undefined {
  if (!(caught instanceof RepositoryError)) throw caught;
}

function shown(proof: Proof): BackupProof {
  const {at_ms: at, passed, point} = proof;
  const {finding = null, object = null} = faultOf(proof) ?? {};
  const its = point === null ? null : {at: point.time_ms, sequence: point.sequence, commit: point.commit};
  return {at, passed, point: its, finding, object};
}
