/** A disk that is never waited for. */
import type {Sync} from '../../engine/storage/log-sync.ts';

export const promptSync: Sync = done => done(null);
