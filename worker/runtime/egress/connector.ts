/**
 * undici dispatchers whose connections are made by the egress process, to addresses that the tenant's policy has
 * checked for each connection. Proxies named in the environment are not used.
 */
import {Socket} from 'node:net';
import {Agent, buildConnector, Pool} from 'undici';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {EGRESS_CONNECT_TIMEOUT_MS} from '../../../shared/limits.ts';
import {
  EGRESS_BODY_TIMEOUT_MS,
  EGRESS_CONNECTIONS_PER_ORIGIN_MAX,
  EGRESS_HEADERS_BYTES_MAX,
  EGRESS_HEADERS_TIMEOUT_MS,
  EGRESS_ORIGINS_MAX,
  EGRESS_SOCKET_MESSAGE_BYTES_MAX,
} from '../limits.ts';
import {EgressClient, type Opened} from './egress-client.ts';

export class Egress {
  readonly #client: EgressClient;
  /** The dispatcher for requests, with keep-alive connections. */
  readonly requests: Agent;
  /** The dispatcher for `new WebSocket(url, {dispatcher})`: its connections do not count against those of requests. */
  readonly sockets: Agent;

  constructor(endpoint: EgressEndpoint) {
    this.#client = new EgressClient(endpoint);
    this.requests = newAgent(this.#client);
    this.sockets = newAgent(this.#client);
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    this.#client.close();
    await Promise.all([this.requests.destroy(), this.sockets.destroy()]);
  }
}

function newAgent(client: EgressClient): Agent {
  return new Agent({
    maxOrigins: EGRESS_ORIGINS_MAX,
    // undici reads this from the dispatcher of the socket, not from the pool of the connection.
    webSocket: {maxPayloadSize: EGRESS_SOCKET_MESSAGE_BYTES_MAX},
    factory: origin =>
      new Pool(origin, {
        connect: connector(client, portOf(new URL(origin))),
        connections: EGRESS_CONNECTIONS_PER_ORIGIN_MAX,
        headersTimeout: EGRESS_HEADERS_TIMEOUT_MS,
        bodyTimeout: EGRESS_BODY_TIMEOUT_MS,
        maxHeaderSize: EGRESS_HEADERS_BYTES_MAX,
      }),
  });
}

function connector(client: EgressClient, port: number): buildConnector.connector {
  const secure = buildConnector({timeout: EGRESS_CONNECT_TIMEOUT_MS});
  return (options, callback) => {
    through(client, options.hostname, port).then(
      ([socket, opened]) => {
        if (options.protocol !== 'https:') {
          callback(null, socket);
          return;
        }
        secure({...options, httpSocket: socket}, (...made) => {
          if (made[1] !== null) client.carries(opened, made[1]);
          callback(...made);
        });
      },
      (error: Error) => callback(error, null),
    );
  };
}

/** A connection to the outside, as a socket. */
async function through(client: EgressClient, host: string, port: number): Promise<[Socket, Opened]> {
  const opened = await client.open(host, port);
  return await new Promise((resolve, reject) => {
    const socket = new Socket();
    client.carries(opened, socket);
    socket.connect({path: opened.path});
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.removeListener('error', reject);
      resolve([socket, opened]);
    });
  });
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
