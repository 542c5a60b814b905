/**
 * What crosses between the egress process and whoever wants out through it: lines of JSON over a Unix socket, one socket for
 * each worker (its door), one connection (a link) for each thread and process of that worker. The first line shows the
 * door's secret. What comes from a worker is outside input: code of a tenant may have left its isolate.
 *
 *   connect ──▶ open {path} ──data connection to the path──▶ bytes both ways, as they are ──▶ ended
 *      │                                                        └▶ broken: it did not end, it broke off
 *      └▶ failed
 *
 * Bytes have a connection of their own, without a word of ours in it: TLS, and what a server says first, work as over TCP. A
 * Unix socket cannot say that a connection was reset, so the link says which it was: the end of a data connection is one if
 * the link says `ended`. When the egress process dies, both are closed and nothing was said.
 */
import type {MetricJson} from '../metric-json.ts';

export type EgressSettings = {allow: string[]; deny: string[]};

/**
 * The way out of one worker. `policy` is only for telling when it changed: what holds is known to the egress process. Data
 * connections have their paths in the directory of `socketPath`, which users of other tenants cannot go through.
 */
export type EgressDoor = DoorKey & {policy: EgressSettings};

/** Where a worker asks, and what it shows there. */
export type DoorKey = {socketPath: string; secret: string};

/** The first line of a link. */
export type EgressHello = {secret: string};

export type EgressQuestion =
  /** Answered by `open` or `failed`. `family` 0: any. */
  | {type: 'connect'; id: number; host: string; port: number; family: number}
  /** The addresses of a name that may be connected to; answered by `addresses` or `failed`. */
  | {type: 'lookup'; id: number; host: string}
  /** The client has closed the connection of this id, or does not want it any more. */
  | {type: 'drop'; id: number};

export type EgressAnswer =
  /** It is connected to this address: whoever connects to the path has it. */
  | {type: 'open'; id: number; path: string; address: string; port: number}
  | {type: 'addresses'; id: number; addresses: string[]}
  | {type: 'failed'; id: number; error: EgressFailure}
  /** What came from the other end of an open connection is at its end, in order. */
  | {type: 'ended'; id: number}
  /** An open connection broke off. */
  | {type: 'broken'; id: number; error: EgressFailure};

/** `refused`: by the tenant's policy. Else an error of the system, with its code. */
export type EgressFailure = {refused: boolean; message: string; code: string | null; syscall: string | null};

/* ── supervisor ── */

/** What the egress process knows of a worker. */
export type EgressGrant = EgressDoor & {tenant: string};

export type SupervisorToEgress =
  /** Once, first. */
  | {type: 'start'; grants: EgressGrant[]}
  /** A worker serves a tenant, or its policy is another: connections of the old one are ended. Answered by `granted`. */
  | {type: 'grant'; id: number; grant: EgressGrant}
  /** The worker of this door has ended. */
  | {type: 'revoke'; socketPath: string}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number};

export type EgressToSupervisor =
  /** The doors of all workers are open. */
  | {type: 'started'}
  | {type: 'granted'; id: number}
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};
