/**
 * Reads and writes the binary frames between router and workers: `u32 body length, u32 stream id, u8 kind, u8 flags,
 * u16 meta length` (little-endian), then a small meta (UTF-8) and the raw body.
 *
 * FrameWriter collects every frame of one event-loop turn and passes them to the socket in one write. FrameReader finds
 * frames in chunks of any size. A frame that breaks a rule throws MalformedFrame; the owner then closes that
 * connection, never the process. Body and meta passed to a handler are views that are valid only during the call,
 * unless they were larger than one chunk; a handler that keeps one copies it. A chunk is never longer than
 * FRAME_CHUNK_BYTES.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../assert.ts';
import {FRAME_BODY_BYTES_MAX, FRAME_CHUNK_BYTES, FRAME_META_BYTES_MAX, FRAME_OWN_WRITE_BYTES} from '../limits.ts';

export const FRAME_HEADER_BYTES = 12;

/**
 * Incremented whenever the meaning of frames changes. Both ends come from one build unless the files of a running
 * server are replaced: its router then speaks the old version and each worker started from then on the new one.
 */
export const IPC_VERSION = 9;

/** The kinds of frames; `operations.ts` defines the meta and body of each kind. */
export const FrameKind = {
  /**
   * router → worker, first frame of a connection. Meta: the per-start secret. Body: the sender's IPC_VERSION, decimal.
   */
  hello: 1,
  /**
   * router → worker. Meta: RequestMeta. Body: the client's bytes, unchanged. Flag `streams`: they follow in chunks
   * instead.
   */
  request: 2,
  /**
   * worker → router. Meta: ResponseMeta, empty for a plain 200. Flag `streams`: chunks follow. Flag `cacheable`: the
   * router may cache the answer until `dropCached`.
   */
  response: 3,
  /**
   * A chunk of a streamed body, either way. Flag `end`: the last one. Flag `failed`: cut short; meta can contain the
   * error, for use if nothing has been sent yet.
   */
  chunk: 4,
  /**
   * The rest of a streamed body is not wanted; from the router: the client has disconnected. A read that is not
   * answered yet can be abandoned, but must still be answered.
   */
  cancel: 5,
  /** The other end consumed this many streamed bytes (meta: decimal). */
  credit: 6,
  /**
   * router → worker, and back under the same stream id: the frames that the worker sent before its reply include every
   * write that any router had answered before the fence was sent.
   */
  fence: 7,
  /** router → worker: keep this live query (body: query object, as JSON) under the stream id until `unsubscribe`. */
  subscribe: 8,
  unsubscribe: 9,
  /**
   * worker → router: the whole result (body: JSON array) of a live query. Flag `failed`: it ended, body is the error
   * object.
   */
  live: 10,
  /**
   * worker → router: the `live` frames since the last one belong to one version (meta: its sequence, and its commit
   * time in epoch milliseconds).
   */
  liveEnd: 11,
  /** worker → router: this live query's result is out of date until its next `live` frame. */
  liveBehind: 12,
  /**
   * router → worker: a client has connected to the function socket (meta: its `Origin`). This stream now stands for it.
   * Flag `resumed`: it was open at another worker, which has answered everything that it had received; with flag
   * `failed`, that is not known.
   */
  socketOpen: 13,
  /**
   * A message on a function socket, either way, unread by the router. Flag `binary`: it was not text. From the worker,
   * `meta` can name all sockets that get it (stream ids, decimal, separated by spaces); otherwise it is for the stream.
   */
  socketMessage: 14,
  /**
   * A function socket: its peer has disconnected; from the worker: close it. Meta: the code of the close frame. Body:
   * its reason.
   */
  socketClose: 15,
  /**
   * On a function socket: the network accepted this many bytes (meta: decimal); from the worker: this many of its
   * peer's bytes are handled.
   */
  socketCredit: 16,
  /**
   * worker → router: how many subscriptions of clients share this live query? And back under the same stream id (meta:
   * the number, decimal).
   */
  subscriptions: 17,
  /**
   * worker → router: drop these answers from the cache (body: JSON array of ids of documents and numbers of results;
   * empty: all). With a number (meta, decimal) the router confirms it, in a frame of this kind with the same meta.
   */
  dropCached: 18,
  /** worker → router: the client of this function socket can resume at another worker. */
  socketResumes: 19,
  /**
   * router → worker: this function socket moves to another worker. Begin nothing more for it, answer what is under way,
   * and send `socketClose`.
   */
  socketLeave: 20,
  /** router → worker: calls that the router answered from its cache (body: JSON array of AnsweredCall). */
  answered: 21,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];
const KIND_MAX = 21;

export const FrameFlag = {none: 0, streams: 1, end: 2, failed: 4, binary: 8, cacheable: 16, resumed: 32} as const;
const FLAGS_MAX = 63;

export class MalformedFrame extends Error {
  override name = 'MalformedFrame';
}

export type FrameHandler = (kind: FrameKind, stream: number, flags: number, meta: Buffer, body: Buffer) => void;

const EMPTY = Buffer.alloc(0);

/**
 * Collects frames and passes them to `write` in as few chunks as possible, in order. With `later` it flushes
 * automatically, once for all frames until then, so callers need not flush. Without it, it flushes when `flush` is
 * called.
 */
export class FrameWriter {
  readonly #write: (bytes: Buffer) => void;
  readonly #later: ((flush: () => void) => void) | null;
  #isArmed = false;
  #chunk = Buffer.allocUnsafeSlow(FRAME_CHUNK_BYTES);
  #start = 0;
  #end = 0;

  /** @param later runs its argument once, after frames have accumulated: `process.nextTick`, for example */
  constructor(write: (bytes: Buffer) => void, later: ((flush: () => void) => void) | null = null) {
    this.#write = write;
    this.#later = later;
  }

  /** True while frames wait for `flush`. */
  get pending(): boolean {
    return this.#end > this.#start;
  }

  /** Appends a frame. `meta` and a string `body` are written as UTF-8; a Buffer body is copied unless `bodyIsOwned`. */
  frame(
    kind: FrameKind,
    stream: number,
    flags: number,
    meta: string,
    body: string | Buffer,
    bodyIsOwned = false,
  ): void {
    if (typeof body === 'string') {
      // A UTF-16 unit is at most 3 bytes of UTF-8: this bound avoids measuring the text first.
      if (FRAME_HEADER_BYTES + (meta.length + body.length) * 3 <= FRAME_CHUNK_BYTES) {
        this.#reserve(FRAME_HEADER_BYTES + (meta.length + body.length) * 3);
        const at = this.#end;
        const metaBytes = writeText(this.#chunk, meta, at + FRAME_HEADER_BYTES);
        const bodyBytes = writeText(this.#chunk, body, at + FRAME_HEADER_BYTES + metaBytes);
        writeHeader(this.#chunk, at, kind, stream, flags, metaBytes, bodyBytes);
        this.#end = at + FRAME_HEADER_BYTES + metaBytes + bodyBytes;
        this.#arm();
        return;
      }
      this.frame(kind, stream, flags, meta, Buffer.from(body, 'utf8'), true);
      return;
    }
    const separate = body.length >= FRAME_OWN_WRITE_BYTES;
    const need = FRAME_HEADER_BYTES + meta.length * 3 + (separate ? 0 : body.length);
    if (need > FRAME_CHUNK_BYTES) {
      this.#frameOwn(kind, stream, flags, meta, body, bodyIsOwned);
      return;
    }
    this.#reserve(need);
    const at = this.#end;
    const metaBytes = writeText(this.#chunk, meta, at + FRAME_HEADER_BYTES);
    writeHeader(this.#chunk, at, kind, stream, flags, metaBytes, body.length);
    this.#end = at + FRAME_HEADER_BYTES + metaBytes;
    if (separate) {
      this.flush();
      this.#write(bodyIsOwned ? body : Buffer.from(body));
    } else {
      body.copy(this.#chunk, this.#end);
      this.#end += body.length;
      this.#arm();
    }
  }

  flush(): void {
    if (this.#end === this.#start) return;
    const bytes = this.#chunk.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#write(bytes);
  }

  #arm(): void {
    if (this.#isArmed || this.#later === null) return;
    this.#isArmed = true;
    this.#later(this.#flushArmed);
  }

  readonly #flushArmed = (): void => {
    this.#isArmed = false;
    this.flush();
  };

  #frameOwn(kind: FrameKind, stream: number, flags: number, meta: string, body: Buffer, bodyIsOwned: boolean): void {
    const metaBytes = Buffer.byteLength(meta);
    const head = Buffer.allocUnsafe(FRAME_HEADER_BYTES + metaBytes);
    head.write(meta, FRAME_HEADER_BYTES, 'utf8');
    writeHeader(head, 0, kind, stream, flags, metaBytes, body.length);
    this.flush();
    this.#write(head);
    this.#write(bodyIsOwned ? body : Buffer.from(body));
  }

  /** A written chunk belongs to the socket until it is sent, so its used part is never overwritten. */
  #reserve(bytes: number): void {
    if (this.#end + bytes <= FRAME_CHUNK_BYTES) return;
    this.flush();
    this.#chunk = Buffer.allocUnsafeSlow(FRAME_CHUNK_BYTES);
    this.#start = 0;
    this.#end = 0;
  }
}

function writeHeader(
  to: Buffer,
  at: number,
  kind: number,
  stream: number,
  flags: number,
  metaBytes: number,
  bodyBytes: number,
): void {
  assert(metaBytes <= FRAME_META_BYTES_MAX, `frame meta of ${metaBytes} bytes`);
  assert(bodyBytes <= FRAME_BODY_BYTES_MAX, `frame body of ${bodyBytes} bytes`);
  to.writeUInt32LE(bodyBytes, at);
  to.writeUInt32LE(stream, at + 4);
  to[at + 8] = kind;
  to[at + 9] = flags;
  to.writeUInt16LE(metaBytes, at + 10);
}

/** Short ASCII, the usual meta, is faster byte by byte than by a call into the runtime. */
function writeText(to: Buffer, text: string, at: number): number {
  const length = text.length;
  if (length === 0) return 0;
  if (length > 32) return to.write(text, at, 'utf8');
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return to.write(text, at, 'utf8');
    to[at + i] = unit;
  }
  return length;
}

/** Finds frames in a byte stream and passes each to `handler`. The caller can reuse the chunks that it passes in. */
export class FrameReader {
  readonly #handler: FrameHandler;
  /** The beginning of a frame, in its own buffer: as long as the frame, or as the header until that is complete. */
  #partial = EMPTY;
  /** Bytes of it received so far; 0: no partial frame. */
  #have = 0;
  #need = FRAME_HEADER_BYTES;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** @throws MalformedFrame if the bytes cannot be a frame; the reader is unusable afterwards. */
  push(chunk: Buffer): void {
    let at = 0;
    while (this.#have > 0) {
      const copied = chunk.copy(this.#partial, this.#have, at);
      at += copied;
      this.#have += copied;
      if (this.#have < this.#partial.length) return;
      if (this.#readFrames(this.#partial, 0) > 0) {
        this.#partial = EMPTY;
        this.#have = 0;
      } else this.#wait(this.#partial);
    }
    at = this.#readFrames(chunk, at);
    if (at < chunk.length) this.#wait(chunk.subarray(at));
  }

  /** Waits for the rest of a frame that begins like this. */
  #wait(beginning: Buffer): void {
    this.#partial = Buffer.allocUnsafe(this.#need);
    this.#have = beginning.copy(this.#partial);
  }

  /**
   * Passes on the complete frames from `from` on. @returns where the next one begins; #need is the number of bytes it
   * needs
   */
  #readFrames(bytes: Buffer, from: number): number {
    let at = from;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const bodyBytes = bytes.readUInt32LE(at);
      const kind = bytes[at + 8]!;
      const flags = bytes[at + 9]!;
      const metaBytes = bytes.readUInt16LE(at + 10);
      if (kind === 0 || kind > KIND_MAX) throw new MalformedFrame(`unknown frame kind ${kind}`);
      if (flags > FLAGS_MAX) throw new MalformedFrame(`unknown frame flags ${flags}`);
      if (bodyBytes > FRAME_BODY_BYTES_MAX) throw new MalformedFrame(`frame body of ${bodyBytes} bytes`);
      const metaAt = at + FRAME_HEADER_BYTES;
      const end = metaAt + metaBytes + bodyBytes;
      if (bytes.length < end) {
        this.#need = end - at;
        return at;
      }
      const meta = metaBytes === 0 ? EMPTY : bytes.subarray(metaAt, metaAt + metaBytes);
      const body = bodyBytes === 0 ? EMPTY : bytes.subarray(metaAt + metaBytes, end);
      this.#handler(kind as FrameKind, bytes.readUInt32LE(at + 4), flags, meta, body);
      at = end;
    }
    this.#need = FRAME_HEADER_BYTES;
    return at;
  }
}
