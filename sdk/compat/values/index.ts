/** Entry point `svc/compat/values`, which exports svc/values under the names that libraries for Convex import. */
import {markAsCompat} from './marker.ts';

export {jsonToSvc as jsonToConvex, svcToJson as convexToJson} from '../../values/convert.ts';
export * from '../../values/index.ts';
export {CommitTsPlaceholder, ConvexError} from './not-supported.ts';

markAsCompat();
