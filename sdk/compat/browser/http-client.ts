/** The HTTP client with what libraries for Convex call of it. */
import {SvcHttpClient} from '../../browser/index.ts';

export class ConvexHttpClient extends SvcHttpClient {
  /** It would answer several queries of one moment. */
  consistentQuery(): never {
    throw new Error(
      'consistentQuery is not supported: over HTTP each query is of its own moment; in @convex-dev/react-query set dangerouslyUseInconsistentQueriesDuringSSR',
    );
  }
}
