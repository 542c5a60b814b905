/** svc itself, as `svc start` runs it, in a data directory of the benchmark. */
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {ServiceClient} from '../../../cli/client.ts';
import {commandLine, descendants} from '../../measure/process-tree.ts';
import {type ServerProcess, startServer} from '../server-process.ts';

export type SvcPeer = {process: ServerProcess; url: string; port: number; token: string; client: ServiceClient};

export const BENCH_TOKEN = 'svc_access_for_the_benchmark_only';

export const BUILT = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** @param flags beyond the defaults @param cli of this build, or of another */
export async function startSvc(data: string, flags: string[] = [], cli = BUILT): Promise<SvcPeer> {
  // The client of the command line takes its token from the same variable.
  process.env.SVC_ACCESS_TOKEN = BENCH_TOKEN;
  const args = [cli, 'start', '--port', '0', '--data', data, '--log-level', 'warn', ...flags];
  const started = await startServer(process.execPath, args, /svc listening on http:\/\/127\.0\.0\.1:(\d+)/);
  const port = Number(started.ready[1]);
  const url = `http://127.0.0.1:${port}`;
  const client = await ServiceClient.open({url, data: join(data)}, 64);
  return {process: started, url, port, token: BENCH_TOKEN, client};
}

export async function stopSvc(peer: SvcPeer): Promise<void> {
  await peer.client.close();
  await peer.process.stop();
}

/** Of all tenants that are awake, and of spares. */
export function workerPids(peer: SvcPeer): number[] {
  return pidsRunning(peer, 'worker.js');
}

export function routerPids(peer: SvcPeer): number[] {
  return pidsRunning(peer, 'router.js');
}

function pidsRunning(peer: SvcPeer, script: string): number[] {
  return descendants(peer.process.pid).filter(pid => commandLine(pid).some(word => word.endsWith(script)));
}
