/**
 * Tenants of the cluster that are made of files of this host. The file is checked and adopted as on a server alone, and the
 * tenant exists from its entry on, so a process that ends at any step leaves no tenant, or a whole one:
 *
 *   a generation ──▶ the file is adopted ──▶ its log begins with it ──▶ the entry ──▶ the directory is the tenant's
 *                    in incoming/            no host opens it              └ a crash: any host opens it from the log
 */
import {join} from 'node:path';
import type {ClusterPause, ClusterTenant} from '../../shared/ipc/cluster.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {FILE_OF_LOG_MS} from '../limits.ts';
import type {ClusterProcess} from '../processes/cluster-process.ts';

export class ClusterFiles {
  readonly #process: Pick<ClusterProcess, 'request'>;
  readonly #alone: (change: () => Promise<void>) => Promise<void>;

  /** @param alone makes a change between those of tenants that the cluster has made */
  constructor(process: Pick<ClusterProcess, 'request'>, alone: (change: () => Promise<void>) => Promise<void>) {
    this.#process = process;
    this.#alone = alone;
  }

  /** @returns a generation. @throws session.tenant_exists 409, session.storage_full 507, session.worker_unavailable 503 */
  async reserve(tenant: string): Promise<number> {
    return (await this.#process.request({does: 'reserve', tenant})) as number;
  }

  /**
   * @param directory with the file, which was adopted
   * @param place makes the directory that of the tenant; no other change of a tenant of the cluster is made meanwhile
   * @throws as `reserve`; op.conflict 409; what `place` throws: then the tenant exists without the directory
   */
  async begin(
    tenant: ClusterTenant & Pick<ClusterPause, 'paused'>,
    directory: string,
    place: () => Promise<void>,
  ): Promise<void> {
    const path = join(directory, TENANT_FILE);
    const epoch = (await this.#process.request({does: 'begin', tenant, path}, FILE_OF_LOG_MS)) as number;
    await this.#alone(async () => {
      await this.#process.request({does: 'enter', tenant: {...tenant, epoch}});
      await place();
    });
  }

  /** Makes a file of what the log has of the tenant. @param path of the file. @throws as `reserve` */
  async copy(tenant: string, path: string): Promise<void> {
    await this.#process.request({does: 'copy', tenant, path}, FILE_OF_LOG_MS);
  }

  /** Makes a directory of the packages of the tenant's deployments, if there are any. @throws as `reserve` */
  async copyPackages(tenant: string, to: string): Promise<void> {
    await this.#process.request({does: 'copy_packages', tenant, to}, FILE_OF_LOG_MS);
  }
}
