/**
 * A pipe between two sockets, with back-pressure in both directions: a side is not read while the other one has not
 * taken what it was sent. The end of one side ends the other, once that has taken everything.
 */
import {Buffer} from 'node:buffer';
import type {Socket} from 'node:net';
import type {Series} from '../../shared/metrics/metrics.ts';
import {PEER_LINK_BUFFER_BYTES_MAX} from '../limits.ts';

/** Bytes passed, by direction. */
export type PipeCounts = {readonly in: Series; readonly out: Series};

export class Pipe {
  readonly #peer: Socket;
  readonly #worker: Socket;
  readonly #counts: PipeCounts;

  /**
   * @param peer nothing reads it yet
   * @param worker is connected; its owner passes on what it sends
   */
  constructor(peer: Socket, worker: Socket, counts: PipeCounts) {
    this.#peer = peer;
    this.#worker = worker;
    this.#counts = counts;
    peer.on('drain', () => worker.resume());
    worker.on('drain', () => peer.resume());
    end(peer, worker);
    end(worker, peer);
  }

  /** From the router of the other host. */
  toWorker(chunk: Buffer): void {
    this.#counts.in.value += chunk.length;
    passOn(this.#peer, this.#worker, chunk);
  }

  /** From the worker. The bytes are copied. */
  toPeer(chunk: Buffer): void {
    this.#counts.out.value += chunk.length;
    passOn(this.#worker, this.#peer, Buffer.from(chunk));
  }
}

function passOn(from: Socket, to: Socket, chunk: Buffer): void {
  if (to.destroyed || to.writableEnded) return;
  to.write(chunk);
  if (to.writableLength > PEER_LINK_BUFFER_BYTES_MAX) from.pause();
}

function end(one: Socket, other: Socket): void {
  one.on('end', () => other.end());
  one.on('error', () => other.destroy());
  // One that is paused would not see that the other one has ended, too.
  one.on('close', () => other.destroySoon());
}
