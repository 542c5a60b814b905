/** Real svc hosts of one test file, which begins with `const cluster = await hostsOfFile()`. */
import {afterAll} from 'vitest';
import {SvcHosts, type SvcHostsOptions} from './svc-hosts.ts';

const STOP_MS = 120_000;

/** To be called at the top level. The hosts are stopped when the tests of the file have ended. */
export async function hostsOfFile(options: SvcHostsOptions = {}): Promise<SvcHosts> {
  const cluster = await SvcHosts.start(options);
  afterAll(() => cluster.stop(), STOP_MS);
  return cluster;
}
