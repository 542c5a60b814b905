/**
 * A process with one live query, by `svc/browser` or by a bare WebSocket that parses what comes: what an update costs a client, and what
 * of that is the socket's and JSON's. Says `ready`, then what each update took when it is stopped.
 */
import {randomUUID} from 'node:crypto';
import {SvcClient} from '../../sdk/browser/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';

export type ClientKind = 'svc/browser' | 'bare';
export type ClientCost = {updates: number; cpuUs: number};

const [url, kind] = process.argv.slice(2) as [string, ClientKind];
let updates = 0;
let counted: {updates: number; cpu: NodeJS.CpuUsage} | null = null;

if (kind === 'bare') bare();
else new SvcClient(url).onUpdate(makeFunctionReference<'query'>('live:firstTen'), {}, updated);

process.on('message', (message: 'begin' | 'end') => {
  if (message === 'begin') {
    counted = {updates, cpu: process.cpuUsage()};
    process.send?.('begun');
    return;
  }
  const {user, system} = process.cpuUsage(counted!.cpu);
  const seen = updates - counted!.updates;
  process.send?.({updates: seen, cpuUs: (user + system) / Math.max(seen, 1)} satisfies ClientCost, () =>
    process.exit(0),
  );
});
process.once('disconnect', () => process.exit(1)); // the parent is gone

function updated(): void {
  if (++updates === 1) process.send?.('ready');
}

function bare(): void {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, FUNCTION_PROTOCOL);
  socket.onopen = () => {
    const changes = [{type: 'add', query_id: 0, path: 'live:firstTen', args: {}}];
    for (const message of [
      {type: 'client_hello', protocol: FUNCTION_PROTOCOL, client_id: randomUUID(), connection_count: 0},
      {type: 'query_set', base_version: 0, new_version: 1, changes},
    ]) {
      socket.send(JSON.stringify(message));
    }
  };
  socket.onmessage = ({data}) => {
    if ((JSON.parse(data as string) as {type: string}).type === 'transition') updated();
  };
}
