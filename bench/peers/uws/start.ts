import {join} from 'node:path';
import {requestText} from '../../load/job.ts';
import {NODE_FLAGS, type ServerProcess, startServer} from '../server-process.ts';

export type UwsPeer = {process: ServerProcess; port: number; requests: string[]};

/** @param bodyBytes length of the answer, so that it weighs what a document of ours does */
export async function startUws(bodyBytes: number): Promise<UwsPeer> {
  const args = [...NODE_FLAGS, join(import.meta.dirname, 'main.ts'), String(bodyBytes)];
  const started = await startServer(process.execPath, args, /listening on (\d+)/);
  return {process: started, port: Number(started.ready[1]), requests: [requestText('GET', '/static', {})]};
}
