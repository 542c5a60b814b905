import type {OptimisticLocalStore} from '../client/optimistic-updates.ts';

/** Changes what is shown, by `localStore`. Synchronous, and without any effect of its own: it runs more than once. */
export type OptimisticUpdate<Args> = (localStore: OptimisticLocalStore, args: Args) => unknown;
