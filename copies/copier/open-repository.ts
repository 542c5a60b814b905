/** Opens the repository that the copier writes to, and takes its lease. Says which failures no retry changes. */
import {readFile} from 'node:fs/promises';
import type {CopierRefusal, CopierSettings} from '../../shared/ipc/copier.ts';
import {parseRepositoryKey} from '../repository/keys.ts';
import {Repository} from '../repository/repository.ts';
import {type LeaseHolder, RepositoryError} from '../repository/repository-error.ts';
import {RepositoryWriter} from '../repository/repository-writer.ts';
import type {ObjectStore} from '../store/object-store.ts';
import {openStore} from '../store/open-store.ts';
import {StoreUrlError} from '../store/store-error.ts';
import {countedStore} from './counted-store.ts';

/** The repository cannot be used as it is. The message is for the operator. */
export class RepositoryRefused extends Error {
  override name = 'RepositoryRefused';
  readonly code: CopierRefusal;
  /** Null: it was not read. */
  readonly repositoryId: string | null;
  /** Of `locked`: by a server with this one's id, which it was itself before the machine or the directory changed, or a copy. */
  readonly isOwn: boolean;
  /** Of `locked`. */
  readonly holder: LeaseHolder | null;

  constructor(
    code: CopierRefusal,
    message: string,
    {
      repositoryId = null,
      isOwn = false,
      holder = null,
    }: Partial<Pick<RepositoryRefused, 'repositoryId' | 'isOwn' | 'holder'>> = {},
  ) {
    super(message);
    this.code = code;
    [this.repositoryId, this.isOwn, this.holder] = [repositoryId, isOwn, holder];
  }
}

type RepositorySettings = Pick<CopierSettings, 'repository' | 'keyFile' | 'host' | 'serverId' | 'place' | 'cluster'>;

/** @param stored called for each object that was stored. @throws RepositoryRefused; RepositoryError, StoreError: try again */
export async function openWriter(
  {repository: url, keyFile, host, serverId, place, cluster}: RepositorySettings,
  stored: (bytes: number) => void,
): Promise<RepositoryWriter> {
  let store: ObjectStore | null = null;
  let id: string | null = null;
  try {
    const key = parseRepositoryKey(await keyText(keyFile));
    store = countedStore(await openStore(url), stored);
    const repository = await Repository.open(store, key);
    id = repository.id;
    return await RepositoryWriter.open(repository, {host, serverId, place, cluster});
  } catch (caught) {
    store?.close();
    throw refusalOf(caught, id, serverId) ?? caught;
  }
}

function refusalOf(caught: unknown, repositoryId: string | null, serverId: string): RepositoryRefused | null {
  if (caught instanceof StoreUrlError) return new RepositoryRefused('no_repository', caught.message);
  if (!(caught instanceof RepositoryError)) return null;
  switch (caught.code) {
    case 'no_repository':
    case 'wrong_key':
    case 'unknown_format':
    case 'locked': {
      const {code, message, holder} = caught;
      return new RepositoryRefused(code, message, {repositoryId, isOwn: holder?.serverId === serverId, holder});
    }
    default:
      return null;
  }
}

async function keyText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (caught) {
    const reason =
      (caught as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : (caught as Error).message;
    throw new RepositoryRefused('no_key_file', `the key file ${path} cannot be read: ${reason}`);
  }
}
