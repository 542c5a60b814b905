/**
 * The copies that a host of a cluster makes for the repository: of all tenants of the cluster, from their logs. One host
 * does it, the one whose copier has the lease of the repository, so that a tenant has one line of copies wherever it is
 * served. The cluster process writes the spools, and the copier reads them.
 */
import type {ClusterProcess} from '../processes/cluster-process.ts';

type Spooled = {readonly tenant: string; readonly generation: number};

export class LogCopies {
  /** Of this host, and its own. */
  readonly names: {readonly cluster: string; readonly host: string};
  readonly #process: Pick<ClusterProcess, 'request' | 'follow'>;
  /** Receives a tenant whose spool has new data. @returns false: this host does not know the tenant yet */
  onSpooled: (spooled: Spooled) => boolean = () => true;
  /** Generations of tenants whose spools had data before this host knew them. At most one entry per tenant of the cluster. */
  readonly #early = new Map<string, number>();
  #isWriter = false;

  constructor(process: Pick<ClusterProcess, 'request' | 'follow'>, names: LogCopies['names']) {
    this.#process = process;
    this.names = names;
  }

  get isWriter(): boolean {
    return this.#isWriter;
  }

  /** The copier of this host writes to the repository from now on, or another one does. */
  follow(isWriter: boolean): void {
    this.#isWriter = isWriter;
    this.#early.clear();
    this.#process.follow(isWriter);
  }

  /** The cluster process sends this once, and it can arrive before this host has taken the new tenant in. */
  spooled(spooled: Spooled): void {
    if (!this.onSpooled(spooled)) this.#early.set(spooled.tenant, spooled.generation);
  }

  /** This host knows the tenant from now on. @returns whether its spool already has data */
  known({tenant, generation}: Spooled): boolean {
    const early = this.#early.get(tenant);
    if (early === undefined || early > generation) return false;
    this.#early.delete(tenant);
    return early === generation;
  }

  /** The cluster process was started again. */
  joined(): void {
    this.#process.follow(this.#isWriter);
  }

  /** Resolves when the spools have what is in the logs now. @throws session.worker_unavailable 503 */
  async flush(withinMs: number): Promise<void> {
    // Of a host that does not write, the copier says why.
    if (this.#isWriter) await this.#process.request({does: 'copies_flush'}, withinMs);
  }

  /** Resolves when the spool begins with a base. @throws session.worker_unavailable 503 */
  async base(tenant: string, withinMs: number): Promise<void> {
    await this.#process.request({does: 'copies_base', tenant}, withinMs);
  }
}
