/**
 * The server of an example. A server that runs already is used (SVC_URL, or http://127.0.0.1:3210); otherwise one is started, on the
 * same data directory as `npm start`, and ends with the example.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {accessToken} from '../../cli/client.ts';
import {CommandFailure} from '../../cli/failure.ts';
import type {ServerAccess} from './example.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY = 'svc listening on ';
export const DEFAULT_URL = process.env.SVC_URL ?? 'http://127.0.0.1:3210';

type Opened = {url: string; close(): Promise<void>};

/**
 * Runs an example until Ctrl-C, or until the server that was started for it ends.
 * @param name to be shown
 * @param port of its page, for the message when it is taken
 */
export async function runWithServer(
  name: string,
  url: string,
  port: string,
  open: (server: ServerAccess) => Promise<Opened>,
): Promise<void> {
  const started = (await isThere(url)) ? null : await startServer(url);
  const server = {url: started?.url ?? new URL(url).origin, accessToken: ''};
  let example: Opened;
  try {
    server.accessToken = await accessToken(server.url, process.env.SVC_DATA);
    example = await open(server);
  } catch (caught) {
    started?.child.kill();
    throw explained(caught, port);
  }
  console.log(`${name} at ${example.url}  (${started === null ? `its data at ${server.url}` : 'Ctrl-C ends it'})`);
  await Promise.race([
    once(process, 'SIGINT'),
    once(process, 'SIGTERM'),
    ...(started === null ? [] : [once(started.child, 'exit')]),
  ]);
  await example.close();
  if (started !== null && started.child.exitCode === null) {
    started.child.kill('SIGTERM');
    await once(started.child, 'exit');
  }
}

function explained(caught: unknown, port: string): unknown {
  if ((caught as NodeJS.ErrnoException).code !== 'EADDRINUSE') return caught;
  return new CommandFailure(`port ${port} is taken; -- --port 0 takes any that is free`);
}

async function isThere(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL('/health', url))).ok;
  } catch {
    return false; // No server listens there: one is about to be started.
  }
}

async function startServer(url: string): Promise<{child: ChildProcess; url: string}> {
  const {port} = new URL(url);
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli.js'), 'start', '--port', port === '' ? '80' : port], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // Ctrl-C is for this command, which then ends the server: once.
  });
  const lines = createInterface(child.stdout!);
  for await (const line of lines) {
    console.log(line);
    if (!line.startsWith(READY)) continue;
    child.stdout!.resume();
    return {child, url: line.slice(READY.length).trim()};
  }
  throw new CommandFailure('the server did not start');
}
