/** A connection to NATS servers, and one sentence for each reason that a server is not connected to. */
import {connect, errors, type NatsConnection, type Server} from '@nats-io/transport-node';
import {NATS_PING_MS, NATS_RECONNECT_MS, NATS_REQUEST_MS} from '../limits.ts';
import {type Credentials, identityCheck, NO_CREDENTIALS} from './credentials.ts';

export type NatsOptions = {
  /** Such as `nats://10.0.0.1:4222`. */
  readonly servers: readonly string[];
  /** For the lists of the servers. */
  readonly name: string;
  readonly credentials?: Credentials;
};

/** One that lasts: it is connected again, to any of the servers. @throws Error: no server answers */
export function connectToAny(options: NatsOptions): Promise<NatsConnection> {
  return connect({
    ...settings(options),
    maxReconnectAttempts: -1,
    reconnectTimeWait: NATS_RECONNECT_MS,
    reconnectToServer: longestUntried,
    pingInterval: NATS_PING_MS,
    maxPingOut: 2,
  });
}

/**
 * The server whose connection was lost is the one that was tried last. The client would try it first, and a server that is
 * frozen accepts connections and says nothing.
 */
function longestUntried(servers: readonly Server[]): Server {
  return servers.reduce((longest, server) => (server.lastConnect < longest.lastConnect ? server : longest));
}

/** @throws Error, which `connectionFault` explains */
export function connectOnce(server: string, options: Omit<NatsOptions, 'servers'>): Promise<NatsConnection> {
  return connect({...settings({...options, servers: [server]}), reconnect: false, waitOnFirstConnect: false});
}

function settings({servers, name, credentials = NO_CREDENTIALS}: NatsOptions) {
  const {tls, authenticator} = credentials;
  return {
    servers: [...servers],
    name,
    timeout: NATS_REQUEST_MS,
    // The addresses that an operator gave are the ones that this host can reach.
    ignoreClusterUpdates: true,
    ...(tls === null ? {} : {tls: {...tls, checkServerIdentity: identityCheck(servers)}}),
    ...(authenticator === null ? {} : {authenticator}),
  };
}

/**
 * Why a server was not connected to. `isMistaken`: what it or this host was configured with is wrong. Otherwise it
 * cannot be reached, which can pass.
 */
export type ConnectionFault = {readonly isMistaken: boolean; readonly reason: string};

const UNKNOWN_ISSUER = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

export function connectionFault(error: unknown, {tls, user}: Credentials): ConnectionFault {
  const {message, code = ''} = deepest(error);
  const mistaken = (reason: string): ConnectionFault => ({isMistaken: true, reason});
  if (error instanceof errors.AuthorizationError || message.toLowerCase().startsWith('authorization violation')) {
    return mistaken(
      user === null
        ? 'requires credentials; give this host a seed file'
        : `does not accept this host's nkey user ${user}; add it to the users of the server`,
    );
  }
  if (UNKNOWN_ISSUER.has(code)) {
    return mistaken(
      tls === null
        ? 'has a certificate of a CA that this machine does not know; give its CA to svc'
        : 'has a certificate that the given CA has not issued',
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return mistaken('has a certificate for another name or address');
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return mistaken('has a certificate that is not valid at the time of this machine');
  }
  if (/ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN)/.test(code)) {
    return mistaken(
      tls?.cert === undefined
        ? 'requires a certificate of this host'
        : 'does not accept the certificate of this host; its ca_file has to be the CA that issued it',
    );
  }
  if (message.includes("does not support 'tls'"))
    return mistaken('offers no TLS; add a tls section with a certificate');
  return {isMistaken: false, reason: message === '' ? 'closed the connection' : message};
}

/** Errors of TLS are the cause of others. */
function deepest(error: unknown): {message: string; code?: string} {
  let found = error as {message?: string; code?: string; cause?: unknown};
  while (found?.cause instanceof Error) found = found.cause as never;
  return {message: found?.message ?? String(error ?? ''), ...(found?.code === undefined ? {} : {code: found.code})};
}
