/**
 * The messages between the egress process and its clients: lines of JSON over Unix sockets. Each worker has one socket,
 * its proxy endpoint (door); each thread and process of that worker has one connection (link). The first line presents
 * the endpoint's secret. Input from a worker is untrusted, because a tenant's code could have escaped its isolate.
 *
 *   connect ──▶ open {path} ──data connection to the path──▶ bytes both ways, as they are ──▶ ended
 *      │                                                        └▶ broken: it did not end, it broke off
 *      └▶ failed
 *
 * Bytes travel over a connection of their own with nothing of ours in it, so TLS, and protocols in which the server
 * speaks first, work as over TCP. A Unix socket cannot say that a connection was reset, so the link says it: a data
 * connection ended normally only if the link sends `ended`. If the egress process dies, both close without a message.
 */
import type {MetricJson} from '../metrics/metric-json.ts';

export type EgressSettings = {allow: string[]; deny: string[]};

/**
 * The proxy endpoint of one worker. `policy` only serves to notice a change: the egress process knows the policy that
 * applies. Data connections have their paths in the directory of `socketPath`, which other tenants' users cannot enter.
 */
export type EgressEndpoint = EndpointKey & {policy: EgressSettings};

/** Where a worker connects, and the secret that it presents. */
export type EndpointKey = {socketPath: string; secret: string};

/** The first line of a link. */
export type EgressHello = {secret: string};

export type EgressQuestion =
  /** Answered by `open` or `failed`. `family` 0: any. */
  | {type: 'connect'; id: number; host: string; port: number; family: number}
  /** Requests the allowed addresses of a name; answered by `addresses` or `failed`. */
  | {type: 'lookup'; id: number; host: string}
  /** The client has closed the connection of this id, or no longer wants it. */
  | {type: 'drop'; id: number};

export type EgressAnswer =
  /** It is connected to this address: the client gets it by connecting to the path. */
  | {type: 'open'; id: number; path: string; address: string; port: number}
  | {type: 'addresses'; id: number; addresses: string[]}
  | {type: 'failed'; id: number; error: EgressFailure}
  /** The stream from the other end of an open connection has ended, in order. */
  | {type: 'ended'; id: number}
  /** An open connection broke off. */
  | {type: 'broken'; id: number; error: EgressFailure};

/** `refused`: by the tenant's policy. Else an error of the system, with its code. */
export type EgressFailure = {refused: boolean; message: string; code: string | null; syscall: string | null};

/* ── supervisor ── */

/** What the egress process knows about a worker. */
export type EgressGrant = EgressEndpoint & {tenant: string};

export type SupervisorToEgress =
  /** Once, first. */
  | {type: 'start'; grants: EgressGrant[]}
  /**
   * A worker serves a tenant, or its policy has changed: connections of the old one are closed. Answered by `granted`.
   */
  | {type: 'grant'; id: number; grant: EgressGrant}
  /** The worker of this endpoint has exited. */
  | {type: 'revoke'; socketPath: string}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number};

export type EgressToSupervisor =
  /** The endpoints of all workers are open. */
  | {type: 'started'}
  | {type: 'granted'; id: number}
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};
