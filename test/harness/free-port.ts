/** Free loopback ports, for processes that get their ports as settings. */
import {randomInt} from 'node:crypto';
import {once} from 'node:events';
import {createServer} from 'node:net';

/** Below those that the system gives to connections: one of these could take a port before its process listens. */
const FIRST = 10_000;
const END = 32_768;

export function freePort(): Promise<number> {
  return freePorts(1);
}

/** @returns the first of so many that follow each other */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = randomInt(FIRST, END - count + 1);
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
