/** Clients of the scripted server, and what they received. */

import {SvcClient, type SvcClientOptions} from '../../sdk/browser/client.ts';
import {SyncClient, type SyncClientOptions} from '../../sdk/client/sync-client.ts';
import {ScriptedServer} from './scripted-server.ts';

export const ADDRESS = 'https://svc.example/svc/acme';

export function scripted(options: SvcClientOptions = {}): {server: ScriptedServer; client: SvcClient; said: string[]} {
  const server = new ScriptedServer();
  const {said, logger} = recorder();
  const client = new SvcClient(ADDRESS, {webSocketConstructor: server.WebSocket, logger, ...options});
  return {server, client, said};
}

export function scriptedEngine(options: SyncClientOptions = {}): {
  server: ScriptedServer;
  engine: SyncClient;
  said: string[];
} {
  const server = new ScriptedServer();
  const {said, logger} = recorder();
  const engine = new SyncClient(ADDRESS, {webSocketConstructor: server.WebSocket, logger, ...options});
  return {server, engine, said};
}

function recorder() {
  const said: string[] = [];
  const line =
    (level: string) =>
    (...parts: unknown[]) =>
      void said.push(`${level}: ${parts.map(part => (part instanceof Error ? part.message : String(part))).join(' ')}`);
  return {said, logger: {log: line('log'), warn: line('warn'), error: line('error')}};
}
