/** Serves the page on loopback, the state that it shows, and what its buttons do. */
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {LocalCluster} from './local-cluster.ts';
import {ACTIONS} from './member.ts';
import type {Writers} from './writers.ts';

const PAGE = new URL('page.html', import.meta.url);
/** Browsers send it only for pages of the same origin, so no other page can end a process. */
const OWN_HEADER = 'x-cluster-page';

export class PageServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param port 0: any free one */
  static async listen(port: number, cluster: LocalCluster, writers: Writers): Promise<PageServer> {
    const server = createServer((request, response) => {
      answer(request, response, cluster, writers).catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
    });
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return new PageServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function answer(
  {method, url, headers}: IncomingMessage,
  response: ServerResponse,
  cluster: LocalCluster,
  writers: Writers,
): Promise<void> {
  // A name of another site can lead to this address.
  if (!/^(127\.0\.0\.1|localhost):\d+$/.test(headers.host ?? '')) return end(response, 403, 'text/plain', 'not here');
  const {pathname, searchParams} = new URL(url!, 'http://127.0.0.1');
  if (method === 'GET' && pathname === '/') return end(response, 200, 'text/html', readFileSync(PAGE, 'utf8'));
  if (method === 'GET' && pathname === '/state') {
    const state = {...(await cluster.shown()), writers: writers.states};
    return end(response, 200, 'application/json', JSON.stringify(state));
  }
  const member = cluster.member(searchParams.get('process') ?? '');
  const action = ACTIONS.find(one => pathname === `/${one}`);
  if (method !== 'POST' || headers[OWN_HEADER] !== '1' || action === undefined || member === undefined) {
    return end(response, 404, 'text/plain', 'there is nothing here');
  }
  await member.act(action);
  end(response, 200, 'application/json', JSON.stringify({process: member.name, state: member.state}));
}

function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store'}).end(body);
}
