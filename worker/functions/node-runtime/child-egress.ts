/**
 * The tenant's egress policy inside a Node process of its deployment. All that Node opens goes through the handles of libuv:
 * those are checked, so that `fetch`, `node:http`, `node:tls` and the drivers of databases are under the policy alike, and a
 * socket taken apart is too.
 *
 *   net.Socket.connect   names are resolved here, once, and only to addresses that the policy opens
 *   TCP handles          connect to an address that the policy opens, or that a name was just resolved to; never listen
 *   UDP, Unix sockets, queries to name servers   refused
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import {syncBuiltinESMExports} from 'node:module';
import net, {isIP, type LookupFunction, type Socket, type SocketConnectOpts} from 'node:net';
import {EgressPolicy, EgressRefused, type EgressSettings, NO_NETWORK} from '../egress/policy.ts';

type Handle = Record<string, unknown>;
type Connect = (this: unknown, request: unknown, address: string, port: number) => number;

/** libuv's for a permission that is missing. */
const UV_EACCES = -13;
/** Resolved and not connected to yet; the oldest go first. */
const OPENED_MAX = 1_000;

/** @param settings null: no network. @param channel to the worker, which is a Unix socket and stays */
export function closeNetwork(settings: EgressSettings | null, channel: Socket): void {
  // What it is now: the policy must not ask the look-up that asks the policy.
  const {lookup} = dns.promises;
  const resolve = async (hostname: string) => (await lookup(hostname, {all: true})).map(({address}) => address);
  const policy = settings === null ? EgressPolicy.closed(NO_NETWORK) : EgressPolicy.of(settings, resolve);
  const opened = new Set<string>();
  const open = (address: string, port: number) => {
    opened.add(`${address} ${port}`);
    if (opened.size > OPENED_MAX) opened.delete(opened.values().next().value!);
  };
  guardTcp((address, port) => {
    if (policy.check(address, port, address) === null) return true;
    return opened.has(`${address} ${port}`);
  });
  guardPipes(channel);
  guardDatagrams();
  guardNameServers(policy);
  guardConnect(policy, open);
  syncBuiltinESMExports();
}

/** The prototypes that every handle of its kind has. */
function guardTcp(mayConnect: (address: string, port: number) => boolean): void {
  const socket = net.connect({host: '127.0.0.1', port: 9}); // its handle is made at once, its connection never
  const prototype = prototypeOf(socket);
  socket.destroy();
  for (const name of ['connect', 'connect6']) {
    const connect = prototype[name] as Connect;
    fix(prototype, name, function (this: unknown, request: unknown, address: string, port: number): number {
      const [to, at] = [String(address), Number(port)];
      return mayConnect(to, at) ? connect.call(this, request, to, at) : UV_EACCES;
    });
  }
  for (const name of ['bind', 'bind6', 'listen', 'open']) fix(prototype, name, () => UV_EACCES);
}

function guardPipes(channel: Socket): void {
  const prototype = prototypeOf(channel);
  for (const name of ['connect', 'connect2', 'bind', 'bind2', 'listen', 'open', 'fchmod'])
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

/** Questions to name servers carry data: only names that are going to be connected to are asked for. */
function guardNameServers(policy: EgressPolicy): void {
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
  const lookup = checkedLookup(policy, 443, () => undefined);
  fix(dns, 'lookup', (hostname: string, options: unknown, callback?: unknown) => {
    const done = (callback ?? options) as Parameters<LookupFunction>[2];
    lookup(
      hostname,
      callback === undefined ? {} : typeof options === 'number' ? {family: options} : (options as dns.LookupOptions),
      done,
    );
  });
  fix(dns.promises, 'lookup', async (hostname: string, options: dns.LookupOptions = {}) => {
    const addresses = (await policy.addresses(hostname, 443)).map(address => ({address, family: isIP(address)}));
    return options.all === true ? addresses : addresses[0];
  });
  for (const of of [dns, dns.promises]) {
    fix(of, 'lookupService', () => {
      throw new EgressRefused('Queries to name servers are refused');
    });
  }
}

function guardConnect(policy: EgressPolicy, open: (address: string, port: number) => void): void {
  const prototype = net.Socket.prototype as unknown as {connect: (...args: unknown[]) => Socket};
  const {connect} = prototype;
  fix(prototype, 'connect', function (this: Socket, ...args: unknown[]): Socket {
    const [options, callback] = normalized(args);
    const {
      host = 'localhost',
      port,
      path,
    } = options as SocketConnectOpts & {host?: string; port?: number; path?: string};
    if (path !== undefined && path !== null) throw new EgressRefused('Connections to Unix sockets are refused');
    const at = Number(port);
    const refused = isIP(host) === 0 ? null : policy.check(host, at, host);
    if (refused !== null) {
      process.nextTick(() => this.destroy(new EgressRefused(refused)));
      return this;
    }
    const lookup = checkedLookup(policy, at, address => open(address, at));
    return connect.call(this, {...options, host, lookup}, ...(callback === null ? [] : [callback]));
  });
}

/** `connect(options, done)`, `connect(port, host, done)`, `connect(path, done)`, or what Node makes of those. */
function normalized(args: unknown[]): [object, unknown] {
  const [first, second, third] = args;
  if (Array.isArray(first)) return [first[0] as object, (first[1] as unknown) ?? null];
  const callback = [first, second, third].find(value => typeof value === 'function') ?? null;
  if (typeof first === 'object' && first !== null) return [first, callback];
  const port = Number(first);
  if (typeof first === 'string' && !(port >= 0)) return [{path: first}, callback];
  return [{port, ...(typeof second === 'string' ? {host: second} : {})}, callback];
}

/** Node's look-up with only the addresses that may be connected to. */
function checkedLookup(policy: EgressPolicy, port: number, open: (address: string) => void): LookupFunction {
  return (hostname, options, callback) => {
    policy.addresses(hostname, port).then(
      found => {
        for (const address of found) open(address);
        const addresses = found
          .map(address => ({address, family: isIP(address)}))
          .filter(({family}) => options.family === undefined || options.family === 0 || options.family === family);
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else if (first === undefined) callback(new EgressRefused(`${hostname} has no address of this family`), '');
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, options.all === true ? [] : ''),
    );
  };
}

function prototypeOf(socket: Socket): Handle {
  return Object.getPrototypeOf((socket as unknown as {_handle: object})._handle) as Handle;
}

/** For good. */
function fix(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: false, configurable: false, enumerable: true});
}
