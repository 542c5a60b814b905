/**
 * The only way out: undici dispatchers whose connections go to addresses the tenant's policy has checked. The name is
 * resolved once and the connection is made to what was checked, so a name server that answers differently the second time
 * (DNS rebinding) gains nothing. No proxy of the environment is used.
 */
import {isIP, type LookupFunction} from 'node:net';
import {Agent, buildConnector, Pool} from 'undici';
import {
  EGRESS_BODY_TIMEOUT_MS,
  EGRESS_CONNECT_TIMEOUT_MS,
  EGRESS_CONNECTIONS_PER_ORIGIN_MAX,
  EGRESS_HEADERS_BYTES_MAX,
  EGRESS_HEADERS_TIMEOUT_MS,
  EGRESS_ORIGINS_MAX,
  EGRESS_SOCKET_MESSAGE_BYTES_MAX,
} from '../../../shared/limits.ts';
import {type EgressPolicy, EgressRefused} from './policy.ts';

type Agents = {requests: Agent; sockets: Agent};

/** One of each for a policy, for as long as anybody holds the policy: connections are kept alive between requests. */
const agents = new WeakMap<EgressPolicy, Agents>();

/** The dispatcher for requests. */
export function egressConnector(policy: EgressPolicy): Agent {
  return agentsOf(policy).requests;
}

/** The dispatcher for `new WebSocket(url, {dispatcher})`: its connections are not taken from those of requests. */
export function egressWebSocketDispatcher(policy: EgressPolicy): Agent {
  return agentsOf(policy).sockets;
}

/** Ends every connection made under this policy, at once; for when the policy has changed or its thread ends. */
export async function closeEgress(policy: EgressPolicy): Promise<void> {
  const open = agents.get(policy);
  agents.delete(policy);
  if (open !== undefined) await Promise.all([open.requests.destroy(), open.sockets.destroy()]);
}

function agentsOf(policy: EgressPolicy): Agents {
  const known = agents.get(policy);
  if (known !== undefined) return known;
  const made = {requests: newAgent(policy), sockets: newAgent(policy)};
  agents.set(policy, made);
  return made;
}

function newAgent(policy: EgressPolicy): Agent {
  return new Agent({
    maxOrigins: EGRESS_ORIGINS_MAX,
    // Asked of the dispatcher a socket was given, not of the pool its connection came from.
    webSocket: {maxPayloadSize: EGRESS_SOCKET_MESSAGE_BYTES_MAX},
    factory: origin =>
      new Pool(origin, {
        connect: checkedConnect(policy, portOf(new URL(origin))),
        connections: EGRESS_CONNECTIONS_PER_ORIGIN_MAX,
        headersTimeout: EGRESS_HEADERS_TIMEOUT_MS,
        bodyTimeout: EGRESS_BODY_TIMEOUT_MS,
        maxHeaderSize: EGRESS_HEADERS_BYTES_MAX,
      }),
  });
}

function checkedConnect(policy: EgressPolicy, port: number): buildConnector.connector {
  const connect = buildConnector({timeout: EGRESS_CONNECT_TIMEOUT_MS, lookup: checkedLookup(policy, port)});
  return (options, callback) => {
    // Node asks no look-up for a host that is an address already.
    const refused = isIP(options.hostname) === 0 ? null : policy.check(options.hostname, port, options.hostname);
    if (refused === null) connect(options, callback);
    else callback(new EgressRefused(refused), null);
  };
}

/** Node's look-up with only the addresses that may be connected to. */
function checkedLookup(policy: EgressPolicy, port: number): LookupFunction {
  return (hostname, options, callback) => {
    policy.addresses(hostname, port).then(
      found => {
        const addresses = found.map(address => ({address, family: isIP(address)}));
        if (options.all === true) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
