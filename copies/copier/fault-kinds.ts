/** Whose fault an error is: the store's or the repository's, or of one tenant. */
import {isOfTenant, RepositoryError} from '../repository/repository-error.ts';
import {StoreError} from '../store/store-error.ts';
import {RepositoryRefused} from './open-repository.ts';

/** Null: it is none of the store's or the repository's. */
export function kindOf(caught: unknown): string | null {
  const isKnown =
    caught instanceof StoreError || caught instanceof RepositoryError || caught instanceof RepositoryRefused;
  return isKnown ? caught.code : null;
}

export function unlessOfTenant(caught: unknown): void {
  if (!isOfTenant(caught)) throw caught;
}

export function unlessOfStore(caught: unknown): void {
  if (kindOf(caught) === null) throw caught;
}
