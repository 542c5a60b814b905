import type {OptimisticLocalStore} from '../client/optimistic-updates.ts';

/**
 * Changes what is shown, through `localStore`. Must be synchronous and without other side effects, because it runs more
 * than once.
 */
export type OptimisticUpdate<Args> = (localStore: OptimisticLocalStore, args: Args) => unknown;
