/**
 * The frame format between a worker and its child processes. Each frame is `u32 bytes that follow, u32 bytes of the
 * head` (little-endian), a JSON head, and a tail. The tail is text or bytes that can be large, so that they are not
 * JSON inside JSON. Frames of one turn of the event loop are sent in one write.
 */

import {Buffer} from 'node:buffer';
import {FRAME_CHUNK_BYTES} from '../../../shared/limits.ts';
import {type Fields, objectIn} from '../../../shared/values/shapes.ts';
import {ISOLATE_FRAME_BYTES_MAX} from '../limits.ts';

const PREFIX_BYTES = 8;

export class FrameSender {
  readonly #write: (bytes: Buffer) => void;
  #chunk = Buffer.allocUnsafeSlow(FRAME_CHUNK_BYTES);
  #start = 0;
  #end = 0;
  #isArmed = false;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  send(head: object, tail: string | Uint8Array = ''): void {
    this.sendText(JSON.stringify(head), tail);
  }

  /** @param json the head */
  sendText(json: string, tail: string | Uint8Array): void {
    // A UTF-16 unit is at most 3 bytes of UTF-8: this bound saves measuring the text first.
    const most = PREFIX_BYTES + 3 * json.length + (typeof tail === 'string' ? 3 * tail.length : tail.byteLength);
    if (most > FRAME_CHUNK_BYTES) {
      this.#sendOwn(json, typeof tail === 'string' ? Buffer.from(tail) : tail);
      return;
    }
    if (this.#end + most > FRAME_CHUNK_BYTES) this.#renew();
    const at = this.#end;
    const headBytes = this.#chunk.write(json, at + PREFIX_BYTES);
    const tailAt = at + PREFIX_BYTES + headBytes;
    if (typeof tail !== 'string') this.#chunk.set(tail, tailAt);
    const tailBytes = typeof tail === 'string' ? this.#chunk.write(tail, tailAt) : tail.byteLength;
    this.#chunk.writeUInt32LE(headBytes + tailBytes, at);
    this.#chunk.writeUInt32LE(headBytes, at + 4);
    this.#end = tailAt + tailBytes;
    this.#arm();
  }

  #sendOwn(json: string, tail: Uint8Array): void {
    const headBytes = Buffer.byteLength(json);
    const head = Buffer.allocUnsafe(PREFIX_BYTES + headBytes);
    head.writeUInt32LE(headBytes + tail.byteLength, 0);
    head.writeUInt32LE(headBytes, 4);
    head.write(json, PREFIX_BYTES);
    this.#flush();
    this.#write(head);
    if (tail.byteLength > 0) this.#write(Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength));
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    process.nextTick(() => {
      this.#isArmed = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#end === this.#start) return;
    const bytes = this.#chunk.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#write(bytes);
  }

  /** The socket owns a written chunk until it is sent, so its used part is never overwritten. */
  #renew(): void {
    this.#flush();
    this.#chunk = Buffer.allocUnsafeSlow(FRAME_CHUNK_BYTES);
    this.#start = 0;
    this.#end = 0;
  }
}

/** `tail` is a view into the received chunk: copy it before you pass it to a thread. */
export type FrameHandler = (head: Fields, tail: Buffer) => void;

export class FrameReceiver {
  readonly #handler: FrameHandler;
  readonly #bytesMax: number;
  /** Chunks of a frame that has not arrived completely; joined when all are there. */
  #chunks: Buffer[] = [];
  #have = 0;
  #need = PREFIX_BYTES;

  constructor(handler: FrameHandler, bytesMax = ISOLATE_FRAME_BYTES_MAX) {
    this.#handler = handler;
    this.#bytesMax = bytesMax;
  }

  /** @returns false: not a valid frame, or too long. The receiver cannot be used afterwards. */
  push(chunk: Buffer): boolean {
    let rest = chunk;
    if (this.#have > 0) {
      this.#chunks.push(chunk);
      this.#have += chunk.length;
      if (this.#have < this.#need) return true;
      rest = Buffer.concat(this.#chunks, this.#have);
    }
    const used = this.#take(rest);
    if (used === null) return false;
    this.#have = rest.length - used;
    this.#chunks = this.#have === 0 ? [] : [rest.subarray(used)];
    return true;
  }

  #take(bytes: Buffer): number | null {
    let at = 0;
    while (bytes.length - at >= PREFIX_BYTES) {
      const length = bytes.readUInt32LE(at);
      const headBytes = bytes.readUInt32LE(at + 4);
      if (length > this.#bytesMax || headBytes > length) return null;
      const headAt = at + PREFIX_BYTES;
      const end = headAt + length;
      if (bytes.length < end) {
        this.#need = end - at;
        return at;
      }
      const head = objectIn(bytes.toString('utf8', headAt, headAt + headBytes));
      if (head === null) return null;
      this.#handler(head, bytes.subarray(headAt + headBytes, end));
      at = end;
    }
    this.#need = PREFIX_BYTES;
    return at;
  }
}
