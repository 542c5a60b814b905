/** What the copier gets from its process, and reports to it: the settings, the repository, and what tenants need. */
import type {CopierSettings} from '../../shared/ipc/copier.ts';
import type {Logger} from '../../shared/log.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import type {SizeLimits} from './next-segment.ts';
import type {RepositoryRefused} from './open-repository.ts';

export type CopierParts = {
  settings: Pick<CopierSettings, 'everyMs' | 'cluster'> & SizeLimits;
  /** @param stored called for each object that was stored. @throws as openWriter */
  open: (stored: (bytes: number) => void) => Promise<RepositoryWriter>;
  log: Logger;
  now: () => number;
  /** Of an earlier process. Null: never. */
  lastSuccessMs: number | null;
  /**
   * Called at each attempt to open the repository, and when another host of the cluster has taken the lease.
   * @param isWriter this server writes to it from now on
   */
  opened: (repositoryId: string | null, refused: RepositoryRefused | null, isWriter: boolean) => void;
  /** A sleeping tenant has nothing in its spool that leads on. */
  baseDue: (tenant: string) => void;
  /** The file of a tenant is older than the repository: it has to begin a new timeline. */
  timelineDue: (tenant: string) => void;
  /** A round has ended with everything stored. */
  succeeded: () => void;
  /** Between rounds. */
  idle?: (writer: RepositoryWriter) => void;
};
