/** Ports of loopback that follow each other, for processes that count them up from the first one. */
import {once} from 'node:events';
import {createServer} from 'node:net';
import {freePort} from './free-port.ts';

/** Between these and the ones that the system gives to connections there can be others, so it tries until all are free. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    if (first + count > 65_536) continue;
    const free = await Promise.all(Array.from({length: count}, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
