/** Entry point `svc/compat/server`, which exports svc/server under the names that libraries for Convex import. */
import {markAsCompat} from '../values/marker.ts';

export * from '../../server/index.ts';
export {SearchFilter} from './not-supported.ts';

markAsCompat();
