/** Entry point `svc/compat/browser`, which exports svc/browser under the names that libraries for Convex import. */
export * from '../../browser/index.ts';
export {SvcClient as ConvexClient, type SvcClientOptions as ConvexClientOptions} from '../../browser/index.ts';
export {ConvexHttpClient} from './http-client.ts';
