/** The HTTP client with the additional members that libraries for Convex call. */
import {SvcHttpClient} from '../../browser/index.ts';

export class ConvexHttpClient extends SvcHttpClient {
  /** Not supported: it would run several queries on one version of the data. @throws Error always */
  consistentQuery(): never {
    throw new Error(
      'consistentQuery is not supported: over HTTP each query is of its own moment; in @convex-dev/react-query set dangerouslyUseInconsistentQueriesDuringSSR',
    );
  }
}
