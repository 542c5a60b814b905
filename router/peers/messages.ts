/**
 * What routers of two hosts say to each other on the peer port, besides the frames of a link. Each message is JSON
 * behind its length (`u32`, little-endian).
 *
 * A router has two kinds of connections to another host, and begins each with a hello:
 *
 *   channel   one, and first: signs of life, and what concerns the links. If it ends, the links end
 *   link      one for each tenant. After the answer `linked` it is a pipe to the worker
 */
import {Buffer} from 'node:buffer';
import {type ErrorObject, isErrorObject, RETRY_AFTER_S_MAX} from '../../shared/errors.ts';
import type {TenantSuspects, UserCall, WorkerName} from '../../shared/ipc/control.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {PEER_REPORT_BYTES_MAX} from '../limits.ts';

/** Incremented whenever the meaning of messages changes: hosts are upgraded one after the other. */
export const PEER_VERSION = 1;

/** `router`: a random id of the process that connects. `ipc`: the version of its frames. */
export type PeerHello =
  | {type: 'channel'; version: number; router: string}
  | {type: 'link'; version: number; router: string; ipc: number; tenant: string; forCode: boolean};

export type PeerAnswer =
  /** To a channel: links can follow. */
  | {type: 'open'}
  /** The rest of the connection is a pipe to this worker, which has got its hello. */
  | {type: 'linked'; worker: WorkerName; runsCode: boolean}
  /** This host does not serve the tenant, or does not know it yet: request its worker again. */
  | {type: 'moved'}
  | {type: 'refused'; error: ErrorObject; retryAfterS: number};

/** On a channel, after its answer. */
export type PeerMessage =
  | {type: 'sign'}
  /** From the host of the worker: send it nothing more, and end the link once everything is answered. */
  | {type: 'give_up'; tenant: string; worker: WorkerName; error: ErrorObject}
  /** From the host of the worker: all calls suspected of crashing it. */
  | ({type: 'suspects'} & TenantSuspects)
  /** To the host of the worker: a suspected call was answered. */
  | {type: 'answered'; tenant: string; key: string}
  /** To the host of the worker: the link was lost, with these calls under way. */
  | {type: 'lost'; tenant: string; worker: WorkerName; calls: UserCall[]}
  /** To the host of the worker, which violated the protocol and must be ended. `lost` follows. */
  | {type: 'malformed'; tenant: string; worker: WorkerName; why: string};

/** What a router reports to the host of a worker. */
export type PeerReport = Extract<PeerMessage, {type: 'answered' | 'lost' | 'malformed'}>;

const LENGTH_BYTES = 4;

export function encoded(message: PeerHello | PeerAnswer | PeerMessage): Buffer {
  const text = JSON.stringify(message);
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + Buffer.byteLength(text));
  bytes.writeUInt32LE(bytes.length - LENGTH_BYTES);
  bytes.write(text, LENGTH_BYTES);
  return bytes;
}

/** Finds messages in bytes. It holds one message and one chunk at most, if `next` is called after each `push`. */
export class MessageReader {
  readonly #bytesMax: number;
  #bytes = Buffer.alloc(0);

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The bytes are copied. */
  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
  }

  /** @returns the next message as JSON; null: it is not complete. @throws MalformedFrame */
  next(): unknown {
    if (this.#bytes.length < LENGTH_BYTES) return null;
    const end = LENGTH_BYTES + this.#bytes.readUInt32LE();
    if (end > this.#bytesMax) throw new MalformedFrame(`a message of ${end} bytes`);
    if (this.#bytes.length < end) return null;
    const text = this.#bytes.toString('utf8', LENGTH_BYTES, end);
    this.#bytes = this.#bytes.subarray(end);
    try {
      return JSON.parse(text) ?? {};
    } catch (cause) {
      throw new MalformedFrame('a message that is not JSON', {cause});
    }
  }

  /** What has arrived behind the messages. */
  get rest(): Buffer {
    return this.#bytes;
  }
}

/** @throws MalformedFrame */
export function helloIn(message: unknown): PeerHello {
  const {type, version, router, ipc, tenant, forCode} = message as Record<string, unknown>;
  const isHello = Number.isSafeInteger(version) && typeof router === 'string';
  const isLink = Number.isSafeInteger(ipc) && typeof tenant === 'string' && typeof forCode === 'boolean';
  if (!isHello || (type !== 'channel' && (type !== 'link' || !isLink))) throw new MalformedFrame('no hello');
  return message as PeerHello;
}

/** @throws MalformedFrame */
export function answerIn(message: unknown): PeerAnswer {
  const {type, worker, runsCode, error, retryAfterS} = message as Record<string, unknown>;
  const isLinked = type === 'linked' && typeof worker === 'string' && typeof runsCode === 'boolean';
  const isPause = typeof retryAfterS === 'number' && retryAfterS >= 0 && retryAfterS <= RETRY_AFTER_S_MAX;
  const isRefused = type === 'refused' && isErrorObject(error) && isPause;
  if (!isLinked && !isRefused && type !== 'open' && type !== 'moved') throw new MalformedFrame('no answer to a hello');
  return message as PeerAnswer;
}

/** @throws MalformedFrame */
export function messageIn(message: unknown): PeerMessage {
  if (!isMessage(message as Record<string, unknown>)) throw new MalformedFrame('no message of a router');
  return message as PeerMessage;
}

function isMessage({type, tenant, worker, error, calls, functions, key, why}: Record<string, unknown>): boolean {
  if (type === 'sign') return true;
  if (typeof tenant !== 'string') return false;
  switch (type) {
    case 'give_up':
      return typeof worker === 'string' && isErrorObject(error);
    case 'suspects':
      return (
        isListOf(calls, {key: 'string', refusedMs: 'number'}) &&
        isListOf(functions, {name: 'string', refusedMs: 'number'})
      );
    case 'answered':
      return typeof key === 'string';
    case 'lost':
      return typeof worker === 'string' && isListOf(calls, {name: 'string', key: 'string'});
    case 'malformed':
      return typeof worker === 'string' && typeof why === 'string';
    default:
      return false;
  }
}

function isListOf(values: unknown, fields: Record<string, 'string' | 'number'>): boolean {
  const isOne = (value: Record<string, unknown> | null) =>
    Object.entries(fields).every(([name, type]) => typeof value?.[name] === type);
  return Array.isArray(values) && values.every(isOne);
}

/** As many of them as a report can have. */
export function reportable(calls: readonly UserCall[]): UserCall[] {
  let bytes = 0;
  return calls.filter(({name, key}) => {
    bytes += 3 * (name.length + key.length);
    return bytes <= PEER_REPORT_BYTES_MAX;
  });
}
