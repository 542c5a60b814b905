/**
 * The function sockets of a link: what the router sends the worker for them, and what comes back. A socket that moves to
 * another worker is left here first: the worker answers what it has under way for it, and then closes it.
 */
import type {Buffer} from 'node:buffer';
import {FrameFlag, FrameKind} from '../../shared/ipc/frame.ts';
import type {Resumed} from '../../shared/protocol/function-socket/server-message.ts';
import {bytesIn, closeCodeIn, streamsIn} from './worker-frames.ts';

/** Receives messages for function sockets from a worker that they are open at, or were before. */
export interface PipeReceiver {
  /** @param message valid during the call */
  message(from: LinkSockets, streams: readonly number[], message: Buffer): void;
  /** The worker has handled this many bytes from this socket's client. */
  handled(from: LinkSockets, stream: number, bytes: number): void;
  /** Its client can resume at another worker. */
  resumes(from: LinkSockets, stream: number): void;
  close(from: LinkSockets, stream: number, code: number, reason: string): void;
}

const RESUMED_FLAGS: Record<Resumed, number> = {
  answered: FrameFlag.resumed,
  lost: FrameFlag.resumed | FrameFlag.failed,
};

export type SendFrame = (kind: FrameKind, stream: number, flags: number, meta: string, body: Buffer | string) => void;

export class LinkSockets {
  readonly #pipes: PipeReceiver;
  readonly #send: SendFrame;
  readonly #left: () => void;
  /** Sockets that the worker has not closed since they were left. */
  readonly #leaving = new Set<number>();

  /** @param left the last of those that were left is closed */
  constructor(pipes: PipeReceiver, send: SendFrame, left: () => void) {
    this.#pipes = pipes;
    this.#send = send;
    this.#left = left;
  }

  get areLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** @param resumed it was open at another worker before; null: it is new */
  open(stream: number, origin: string, resumed: Resumed | null): void {
    this.#send(FrameKind.socketOpen, stream, resumed === null ? FrameFlag.none : RESUMED_FLAGS[resumed], origin, '');
  }

  /** The bytes are copied. */
  message(stream: number, message: Buffer, isBinary: boolean): void {
    this.#send(FrameKind.socketMessage, stream, isBinary ? FrameFlag.binary : FrameFlag.none, '', message);
  }

  credit(stream: number, bytes: number): void {
    this.#send(FrameKind.socketCredit, stream, FrameFlag.none, String(bytes), '');
  }

  leave(stream: number): void {
    this.#leaving.add(stream);
    this.#send(FrameKind.socketLeave, stream, FrameFlag.none, '', '');
  }

  close(stream: number): void {
    this.#send(FrameKind.socketClose, stream, FrameFlag.none, '', '');
    this.#closed(stream);
  }

  /** A frame of the worker. @throws MalformedFrame */
  receive(kind: FrameKind, stream: number, meta: Buffer, body: Buffer): void {
    switch (kind) {
      case FrameKind.socketMessage:
        this.#pipes.message(this, streamsIn(meta) ?? [stream], body);
        return;
      case FrameKind.socketCredit:
        this.#pipes.handled(this, stream, bytesIn(meta));
        return;
      case FrameKind.socketResumes:
        this.#pipes.resumes(this, stream);
        return;
      case FrameKind.socketClose:
        this.#pipes.close(this, stream, closeCodeIn(meta), body.toString('utf8'));
        this.#closed(stream);
        return;
    }
  }

  #closed(stream: number): void {
    if (this.#leaving.delete(stream) && this.#leaving.size === 0) this.#left();
  }
}
