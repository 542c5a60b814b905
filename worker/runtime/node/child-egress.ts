/**
 * Routes all network access of a Node process of a deployment through the egress process, which holds the tenant's
 * policy. Node opens every connection through libuv handles. Patched handles connect only to the egress process, so
 * `fetch`, `node:http`, `node:tls` and database drivers work without changes.
 *
 *   net.Socket.connect, tls.connect   a connection of the egress process, whose bytes arrive over its own Unix socket
 *   dns.lookup                        the addresses found by the egress process that the policy allows
 *   TCP handles, UDP, listening, other Unix sockets, queries to name servers   refused
 *
 * These patches only make the egress process convenient to use. What makes it the only way out is that the process has
 * no network (supervisor/confinement/confinement.ts).
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import {syncBuiltinESMExports} from 'node:module';
import net, {isIP, type LookupFunction, type Socket} from 'node:net';
import tls, {type ConnectionOptions} from 'node:tls';
import {EgressRefused} from '../../../shared/egress/refused.ts';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {EgressClient} from '../egress/egress-client.ts';
import {NO_EGRESS} from '../egress/no-network.ts';

type Way = typeof NO_EGRESS;
type Handle = Record<string, unknown>;
type Target = {host?: string | null; port?: unknown; path?: string | null; family?: unknown};

/** libuv's error code for a missing permission. */
const UV_EACCES = -13;
/** Placeholder path for a socket that is created before its real path is known. */
const THROUGH = 'svc:egress';

/** @param door null: no network. @param channel to the worker: a Unix socket, which stays open */
export function closeNetwork(endpoint: EgressEndpoint | null, channel: Socket): void {
  const {connect} = net.Socket.prototype;
  /** Paths that can be connected to, once each. */
  const paths = new Set<string>();
  const connectTo = (socket: Socket, path: string) => {
    paths.add(path);
    return (connect as (this: Socket, options: object) => Socket).call(socket, {path});
  };
  const linkTo = (path: string) => connectTo(new net.Socket(), path);
  const now = performance.now.bind(performance);
  const way = endpoint === null ? NO_EGRESS : new EgressClient(endpoint, {connectTo: linkTo, now});
  guardTcp();
  guardPipes(channel, path => paths.delete(path));
  guardDatagrams();
  guardNameServers(way);
  guardConnect(way, connectTo);
  guardTls();
  syncBuiltinESMExports();
}

/** Patches the prototypes that all handles of a kind share. */
function guardTcp(): void {
  const socket = net.connect({host: '127.0.0.1', port: 9}); // its handle is created at once; it never connects
  const prototype = prototypeOf(socket);
  socket.destroy();
  for (const name of ['connect', 'connect6', 'bind', 'bind6', 'listen', 'open']) fix(prototype, name, () => UV_EACCES);
}

function guardPipes(channel: Socket, mayConnect: (path: string) => boolean): void {
  const prototype = prototypeOf(channel);
  const connect = prototype.connect as (this: unknown, request: unknown, path: string) => number;
  fix(prototype, 'connect', function (this: unknown, request: unknown, path: string): number {
    const to = String(path);
    return mayConnect(to) ? connect.call(this, request, to) : UV_EACCES;
  });
  for (const name of ['connect2', 'bind', 'bind2', 'listen', 'open', 'fchmod'])
    if (name in prototype) fix(prototype, name, () => UV_EACCES);
}

function guardDatagrams(): void {
  const socket = dgram.createSocket('udp4');
  const state = Object.getOwnPropertySymbols(socket)
    .map(symbol => (socket as unknown as Record<symbol, {handle?: Handle}>)[symbol])
    .find(value => value?.handle !== undefined);
  const prototype = Object.getPrototypeOf(state!.handle) as Handle;
  for (const name of ['bind', 'bind6', 'connect', 'connect6', 'send', 'send6', 'open'])
    fix(prototype, name, () => UV_EACCES);
  socket.close();
}

/** Queries to name servers can carry data, so only names that the policy allows are looked up. */
function guardNameServers(way: Way): void {
  const resolver = new dns.Resolver() as unknown as {_handle: object};
  const prototype = Object.getPrototypeOf(resolver._handle) as Handle;
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (!name.startsWith('query') && name !== 'getHostByAddr') continue;
    fix(prototype, name, () => {
      throw new EgressRefused(
        'Queries to name servers are refused; dns.lookup resolves names that may be connected to',
      );
    });
  }
  const found = async (hostname: string, {family, all}: dns.LookupOptions) => {
    const addresses = (await way.lookup(hostname))
      .map(address => ({address, family: isIP(address)}))
      .filter(at => familyOf(family) === 0 || familyOf(family) === at.family);
    if (addresses.length === 0) throw new EgressRefused(`${hostname} has no address of this family`);
    return all === true ? addresses : addresses[0]!;
  };
  fix(dns, 'lookup', (hostname: string, given: unknown, callback?: unknown) => {
    const done = (callback ?? given) as Parameters<LookupFunction>[2];
    const options = callback === undefined ? {} : optionsOf(given);
    found(hostname, options).then(
      answer => {
        if (Array.isArray(answer)) done(null, answer);
        else done(null, answer.address, answer.family);
      },
      (error: NodeJS.ErrnoException) => done(error, options.all === true ? [] : ''),
    );
  });
  fix(dns.promises, 'lookup', (hostname: string, given?: unknown) => found(hostname, optionsOf(given)));
  for (const of of [dns, dns.promises]) {
    fix(of, 'lookupService', () => {
      throw new EgressRefused('Queries to name servers are refused');
    });
  }
}

function optionsOf(given: unknown): dns.LookupOptions {
  return typeof given === 'number' ? {family: given} : ((given ?? {}) as dns.LookupOptions);
}

function familyOf(given: unknown): number {
  if (given === 'IPv4' || given === 4) return 4;
  return given === 'IPv6' || given === 6 ? 6 : 0;
}

function guardConnect(way: Way, connectTo: (socket: Socket, path: string) => Socket): void {
  const prototype = net.Socket.prototype as unknown as {connect: unknown};
  fix(
    prototype,
    'connect',
    function (this: Socket & {connecting: boolean; _handle?: object | null}, ...args: unknown[]): Socket {
      const [options, callback] = normalized(args);
      const {path} = options;
      const host = options.host ?? 'localhost';
      const port = Number(options.port);
      if (path !== undefined && path !== null && path !== THROUGH)
        throw new EgressRefused('Connections to Unix sockets are refused');
      if (!Number.isInteger(port) || port < 0 || port > 65_535)
        throw Object.assign(new RangeError(`Port should be >= 0 and < 65536. Received ${String(options.port)}.`), {
          code: 'ERR_SOCKET_BAD_PORT',
        });
      // Its handle is a TCP handle.
      if (this instanceof tls.TLSSocket && path !== THROUGH)
        throw new EgressRefused('A TLSSocket is connected by tls.connect here');
      if (typeof callback === 'function') this.once('connect', callback as () => void);
      // From now on it buffers writes, as it does during a name lookup.
      this.connecting = true;
      way.open(String(host), port, familyOf(options.family)).then(
        opened => {
          if (this.destroyed) {
            way.drop(opened);
            return;
          }
          const {address} = opened;
          this.emit('lookup', null, address, isIP(address), host);
          const known = {remoteAddress: address, remotePort: opened.port, remoteFamily: `IPv${isIP(address)}`};
          for (const [name, value] of Object.entries(known))
            Object.defineProperty(this, name, {value, writable: true, configurable: true, enumerable: false});
          way.carries(opened, this);
          connectTo(this, opened.path);
        },
        (error: Error) => this.destroy(error),
      );
      return this;
    },
  );
}

/** TLS sockets create their handles before they connect. With a path, the handle is that of a Unix socket. */
function guardTls(): void {
  const {connect} = tls;
  fix(tls, 'connect', (...args: unknown[]) => {
    const [target, callback] = normalized(args);
    const more = args.slice(1).find(value => typeof value === 'object' && value !== null) ?? {};
    const options = {...target, ...more} as ConnectionOptions;
    const done = callback as (() => void) | undefined;
    if (options.socket !== undefined && options.socket !== null) return connect(options, done);
    if (options.path !== undefined && options.path !== null)
      throw new EgressRefused('Connections to Unix sockets are refused');
    return connect({...options, path: THROUGH}, done);
  });
}

/**
 * Accepts `connect(options, done)`, `connect(port, host, done)`, `connect(path, done)`, and the form that Node
 * normalizes these to.
 */
function normalized(args: unknown[]): [Target, unknown] {
  const [first, second] = args;
  if (Array.isArray(first)) return [first[0] as Target, (first[1] as unknown) ?? undefined];
  const callback = args.find(value => typeof value === 'function');
  if (typeof first === 'object' && first !== null) return [first, callback];
  if (typeof first === 'string' && !(Number(first) >= 0)) return [{path: first}, callback];
  return [{port: first, ...(typeof second === 'string' ? {host: second} : {})}, callback];
}

function prototypeOf(socket: Socket): Handle {
  return Object.getPrototypeOf((socket as unknown as {_handle: object})._handle) as Handle;
}

/** Defines a property that cannot be changed again. */
function fix(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: false, configurable: false, enumerable: true});
}
