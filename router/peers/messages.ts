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
import type {WorkerName} from '../../shared/ipc/control.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';

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
  | {type: 'give_up'; tenant: string; worker: WorkerName; error: ErrorObject};

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
  const {type, tenant, worker, error} = message as Record<string, unknown>;
  const isGiveUp =
    type === 'give_up' && typeof tenant === 'string' && typeof worker === 'string' && isErrorObject(error);
  if (type !== 'sign' && !isGiveUp) throw new MalformedFrame('no message of a router');
  return message as PeerMessage;
}
