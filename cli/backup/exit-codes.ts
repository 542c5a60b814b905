/** How verbs about copies end; 0, 1 and 2 are as for every verb. */
import type {RepositoryCode} from '../../copies/repository/repository-error.ts';

export const EXIT_PARTIAL = 3;

const OF_REPOSITORY: Partial<Record<RepositoryCode, number>> = {no_repository: 4, locked: 5, wrong_key: 6};

export function exitCodeOf(code: RepositoryCode): number {
  return OF_REPOSITORY[code] ?? 1;
}
