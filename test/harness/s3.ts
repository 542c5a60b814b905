/** A real S3-compatible server with one bucket, in a directory of its own. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import S3rver from 's3rver';

export const BUCKET = 'copies';
/** The only credentials that s3rver knows, as the SDK reads them from its environment. */
export const S3_ENV = {AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER', AWS_REGION: 'us-east-1'};

export type S3 = {
  endpoint: string;
  /** It has the buckets. An object of the key K is the file `BUCKET/K._S3rver_object`. */
  directory: string;
  stop(): Promise<void>;
};

export async function startS3(): Promise<S3> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{name: BUCKET}],
  });
  const {port} = await server.run();
  const stop = async () => {
    const closed = new Promise(resolve => server.httpServer.close(resolve));
    server.httpServer.closeAllConnections();
    await closed;
    rmSync(directory, {recursive: true, force: true});
  };
  return {endpoint: `http://127.0.0.1:${port}`, directory, stop};
}

/** The repository at this prefix of the bucket. @param endpoint of the server, or of a proxy in front of it */
export function s3Url(endpoint: string, prefix: string): string {
  const settings = new URLSearchParams({endpoint, region: 'us-east-1', path_style: 'true', checksums: 'off'});
  return `s3://${BUCKET}/${prefix}?${settings}`;
}
