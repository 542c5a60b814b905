/** The names of files, other than page sets, that the repository has. */

import type {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import type {FileItem} from '../repository/tenant-copies.ts';

/** @throws RepositoryError; StoreError */
export async function storedFiles(repository: Repository, tenant: string): Promise<FileItem[]> {
  try {
    return (await repository.copies(tenant)).files;
  } catch (caught) {
    if (caught instanceof RepositoryError && caught.code === 'no_copies') return [];
    throw caught;
  }
}
