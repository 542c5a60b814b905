/** What the copier gets from its process, and reports to it: the settings, the repository, and what tenants need. */
import type {CopierSettings} from '../../shared/ipc/copier.ts';
import type {Logger} from '../../shared/log.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import type {SizeLimits} from './next-segment.ts';
import type {RepositoryRefused} from './open-repository.ts';

export type CopierParts = {
  settings: Pick<CopierSettings, 'everyMs'> & SizeLimits;
  /** @param stored called for each object that was stored. @throws as openWriter */
  open: (stored: (bytes: number) => void) => Promise<RepositoryWriter>;
  log: Logger;
  now: () => number;
  /** Of an earlier process. Null: never. */
  lastSuccessMs: number | null;
  /** Called once, as soon as it is known whether the repository can be used. */
  opened: (repositoryId: string | null, refused: RepositoryRefused | null) => void;
  /** A sleeping tenant has nothing in its spool that leads on. */
  baseDue: (tenant: string) => void;
  /** The file of a tenant is older than the repository: it has to begin a new timeline. */
  timelineDue: (tenant: string) => void;
  /** A round has ended with everything stored. */
  succeeded: () => void;
  /** Between rounds. */
  idle?: (writer: RepositoryWriter) => void;
};
