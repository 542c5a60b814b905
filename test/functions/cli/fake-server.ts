/** A server whose every answer a test decides: for what a real one does only when something goes wrong. */
import {once} from 'node:events';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {ServiceClient} from '../../../cli/client.ts';
import type {Target} from '../../../cli/project/target.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export class FakeServer {
  /** Method and path of each request but those that look whether a server is there. */
  readonly requests: string[] = [];
  readonly #answers: Answer[];
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #clients: ServiceClient[] = [];

  private constructor(answers: Answer[]) {
    this.#answers = answers;
  }

  /** @param answers one a request; the last one again and again */
  static async start(answers: Answer[]): Promise<FakeServer> {
    const server = new FakeServer(answers);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  async target(tenant: string): Promise<Target> {
    process.env.SVC_ACCESS_TOKEN = 'fake';
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const client = await ServiceClient.open({url, data: ''}, 2);
    this.#clients.push(client);
    const node = {nodeVersion: '24' as const, externalPackages: []};
    return {client, tenant, project: {root: '/', functions: 'svc', tenant, url, node}};
  }

  async stop(): Promise<void> {
    delete process.env.SVC_ACCESS_TOKEN;
    for (const client of this.#clients) await client.close();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/api/tenants') {
      response.end('{"tenants": []}');
      return;
    }
    this.requests.push(`${request.method} ${request.url}`);
    const answer = this.#answers[Math.min(this.requests.length, this.#answers.length) - 1]!;
    answer(response, request);
  }
}

export function refusing(status: number, code: string, detail: object = {}): Answer {
  const error = {code, message: `refused: ${code}`, detail};
  return response => response.writeHead(status).end(JSON.stringify({error}));
}

export function answering(value: unknown): Answer {
  return response => response.end(JSON.stringify(value));
}

/** The connection ends without an answer. */
export const breakingOff: Answer = (_response, request) => request.socket.destroy();
