/**
 * The router's HTTP side and the worker's end of its connection, both real, in one process; in between a Unix socket. What a
 * worker would do with a request, the test does.
 */

import {createHash} from 'node:crypto';
import {linkSync, mkdtempSync, rmSync} from 'node:fs';
import {connect, createServer, type Socket, type Server as SocketServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {IncomingBody} from '../../../engine/io/incoming-body.ts';
import {Credentials} from '../../../router/auth/credentials.ts';
import {FailedCredentials} from '../../../router/auth/failed-credentials.ts';
import {KeyRing} from '../../../router/auth/key-ring.ts';
import {SessionRing} from '../../../router/auth/session-ring.ts';
import {ControlChannel} from '../../../router/control-channel.ts';
import {Downloads} from '../../../router/dashboard/downloads.ts';
import {Surfaces} from '../../../router/dashboard/surfaces.ts';
import {Callers} from '../../../router/edge/callers.ts';
import {Health} from '../../../router/edge/health.ts';
import {Intake} from '../../../router/edge/intake.ts';
import {OriginRule} from '../../../router/http/origin.ts';
import {ShippedFiles} from '../../../router/http/shipped-files.ts';
import {Traffic} from '../../../router/http/traffic.ts';
import {RateLimits} from '../../../router/rates/rate-limits.ts';
import {limitsOfOne} from '../../../router/router-limits.ts';
import {Server} from '../../../router/server.ts';
import {TenantDirectory} from '../../../router/tenants/directory.ts';
import {BufferedBytes} from '../../../shared/byte-accounts.ts';
import type {RequestMeta} from '../../../shared/ipc/operations.ts';
import {createLogger} from '../../../shared/log.ts';
import {RouterMetrics} from '../../../shared/metrics/router-metrics.ts';
import {LinkShare} from '../../../worker/ipc/link-share.ts';
import {RouterCaches} from '../../../worker/ipc/router-caches.ts';
import {RouterLink} from '../../../worker/ipc/router-link.ts';
import {NO_SOCKETS} from '../../ipc/no-sockets.ts';

export const ACCESS = 'the-access-token';
export const ADMIN = 'the-admin-token';
export const TENANT = 'acme';

export type Arrived = {
  link: RouterLink;
  stream: number;
  meta: RequestMeta;
  body: string;
  incoming: IncomingBody | null;
};

const log = createLogger({}, {write: () => undefined});
const SECRET = 'secret';

export class Edge {
  readonly port: number;
  readonly intake: Intake;
  readonly directory: TenantDirectory;
  readonly health: Health;
  /** What the tenant's worker does with a request; answers 200 `null` unless a test says otherwise. */
  serve: (arrived: Arrived) => void = ({link, stream}) => link.reply(stream, 200, 'null');
  /** Reports to the supervisor about workers that violate the protocol. */
  readonly malformed: string[] = [];
  readonly #server: Server;
  readonly #folder: string;
  readonly #worker: SocketServer;
  readonly #sockets: Set<Socket>;

  private constructor(
    server: Server,
    intake: Intake,
    directory: TenantDirectory,
    health: Health,
    folder: string,
    worker: SocketServer,
    sockets: Set<Socket>,
  ) {
    this.#server = server;
    this.intake = intake;
    this.directory = directory;
    this.health = health;
    this.#folder = folder;
    this.#worker = worker;
    this.#sockets = sockets;
    this.port = server.port;
  }

  /** @param hostile takes the connections of the worker in its place */
  static async start(hostile: ((socket: Socket) => void) | null = null): Promise<Edge> {
    let edge: Edge | null = null;
    let wakes = 0;
    const folder = mkdtempSync(join(tmpdir(), 'svc-edge-'));
    const socketPath = join(folder, 'w');
    const sockets = new Set<Socket>();
    const ignored = () => undefined;
    const worker = createServer(socket => {
      sockets.add(socket);
      if (hostile !== null) {
        hostile(socket);
        return;
      }
      new RouterLink(
        socket,
        SECRET,
        new LinkShare(1, RouterCaches.of(1, false)),
        {
          onRequest: (link, stream, meta, body, incoming) =>
            edge!.serve({link, stream, meta, body: body.toString(), incoming}),
          onSubscribe: ignored,
          onUnsubscribe: ignored,
          onFence: ignored,
          onAnswered: ignored,
          onClose: ignored,
          sockets: NO_SOCKETS,
        },
        log,
      );
    });
    await new Promise<void>(resolve => worker.listen(socketPath, resolve));
    // Each wake has a worker of its own, so to say.
    const newAddress = () => {
      const path = join(folder, `w${++wakes}`);
      linkSync(socketPath, path);
      return {
        tenant: TENANT,
        worker: path,
        socketPath: path,
        secret: SECRET,
        owner: process.geteuid!(),
        runsCode: true,
      };
    };
    const metrics = new RouterMetrics();
    const directory: TenantDirectory = new TenantDirectory(
      {tenants: [TENANT, 'asleep'], returning: [], suspects: []},
      1,
      message => {
        if (message.type === 'link_malformed') edge!.malformed.push(message.why);
        if (message.type !== 'wake' || message.tenant !== TENANT) return;
        directory.receive({type: 'worker_ready', address: newAddress()});
      },
      log,
      metrics,
    );
    // A supervisor whose audit log takes every record.
    const control: ControlChannel = new ControlChannel(message => {
      if (message.type === 'request') control.settle({type: 'reply', id: message.id, result: 1});
    });
    const limits = limitsOfOne(1);
    const traffic = new Traffic(metrics, limits.unsentReplyBytes, {
      log,
      logsAll: false,
      refusals: {note: ignored},
      send: ignored,
    });
    const keys = new KeyRing({records: [], isInCluster: false, now: Date.now, onUsed: ignored});
    const credentials = new Credentials(sha256(ACCESS), sha256(ADMIN), keys);
    const onBug = (_: unknown, error: unknown) => {
      throw error;
    };
    const failedCredentials = new FailedCredentials(() => performance.now(), limits);
    const buffered = new BufferedBytes(limits.socketsBufferedBytes);
    const health = new Health(false);
    const files = new ShippedFiles(new URL('file:///nowhere/'));
    const parts = {
      buffered,
      downloads: new Downloads('none', Date.now),
      grantKey: 'key',
      credentials,
      failedCredentials,
      directory,
      control,
      observer: traffic,
      callers: new Callers([], false),
      rateLimits: new RateLimits({tenant: null, key: null}, 1, () => 0, metrics),
      files,
      dashboardFiles: files,
      health,
      surfaces: new Surfaces(null),
      keys,
      sessions: new SessionRing([], keys, Date.now),
      onBug,
    };
    let intake: Intake | null = null;
    const server = await Server.listen('127.0.0.1', 0, 'exclusive', (port, app) => {
      const made = new Intake(parts, new OriginRule('127.0.0.1', port, []));
      intake = made;
      made.mount(app);
    });
    edge = new Edge(server!, intake!, directory, health, folder, worker, sockets);
    return edge;
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** A raw connection that has sent these bytes. */
  connect(bytes: string): Socket {
    const socket = connect({host: '127.0.0.1', port: this.port});
    socket.write(bytes);
    return socket;
  }

  /** As if the worker's process were gone. */
  killWorker(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  stop(): void {
    this.#server.stopAccepting();
    this.killWorker();
    this.#worker.close();
    rmSync(this.#folder, {recursive: true, force: true});
  }
}

/** All that a connection receives until it is closed, or until `isEnough`. */
export function received(socket: Socket, isEnough: (text: string) => boolean = () => false): Promise<string> {
  let text = '';
  return new Promise(resolve => {
    socket.on('data', chunk => {
      text += (chunk as Buffer).toString('latin1');
      if (isEnough(text)) resolve(text);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
