/**
 * Sealed bytes: encrypted and authenticated with AES-256-GCM, in frames of 1 MiB, so that bytes of any size need memory
 * for one frame.
 *
 *   salt 32 ─ frame ─ frame …      frame: encrypted bytes, tag 16
 *
 * The key of the frames is HMAC-SHA256(data key, salt), so a nonce is used once although it is only the frame's number.
 * Each frame authenticates its number, whether it is the last, and the context: which repository, tenant and range the
 * bytes belong to. So frames cannot be removed, exchanged, or presented as another tenant's.
 */
import {createCipheriv, createDecipheriv, createHash, createHmac, randomBytes} from 'node:crypto';
import {FRAME_BYTES} from '../limits.ts';

const SALT_BYTES = 32;
const TAG_BYTES = 16;
const SEALED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES;

/** The bytes are not those that were sealed, or with another key, or of another context. */
export class UnsealError extends Error {
  override name = 'UnsealError';
}

/** What sealed bytes are: sealed and unsealed with equal parts. */
export type SealContext = readonly (string | number)[];

/** Of bytes after they are sealed. */
export function sealedLength(bytes: number): number {
  return SALT_BYTES + bytes + TAG_BYTES * Math.max(1, Math.ceil(bytes / FRAME_BYTES));
}

export function seal(key: Buffer, context: SealContext, bytes: Buffer): Buffer {
  const frames = new Frames(key, context, randomBytes(SALT_BYTES));
  const parts = [frames.salt];
  let at = 0;
  for (; bytes.length - at > FRAME_BYTES; at += FRAME_BYTES) {
    parts.push(frames.seal(bytes.subarray(at, at + FRAME_BYTES), false));
  }
  parts.push(frames.seal(bytes.subarray(at), true));
  return Buffer.concat(parts);
}

/** @throws UnsealError */
export function unseal(key: Buffer, context: SealContext, sealed: Buffer): Buffer {
  if (sealed.length < SALT_BYTES + TAG_BYTES) throw new UnsealError(`${sealed.length} bytes are too few`);
  const frames = new Frames(key, context, sealed.subarray(0, SALT_BYTES));
  const parts: Buffer[] = [];
  let at = SALT_BYTES;
  for (; sealed.length - at > SEALED_FRAME_BYTES; at += SEALED_FRAME_BYTES) {
    parts.push(frames.unseal(sealed.subarray(at, at + SEALED_FRAME_BYTES), false));
  }
  parts.push(frames.unseal(sealed.subarray(at), true));
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

export async function* sealedParts(
  key: Buffer,
  context: SealContext,
  parts: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const frames = new Frames(key, context, randomBytes(SALT_BYTES));
  yield frames.salt;
  for await (const {bytes, isLast} of cut(parts, FRAME_BYTES)) yield frames.seal(bytes, isLast);
}

/** @throws UnsealError; parts before it are authentic, but not all of them */
export async function* unsealedParts(
  key: Buffer,
  context: SealContext,
  parts: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let frames: Frames | null = null;
  let salt: Buffer = Buffer.alloc(0);
  const rest = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const part of parts) {
      if (frames !== null) yield part;
      else {
        salt = Buffer.concat([salt, part]);
        if (salt.length < SALT_BYTES) continue;
        frames = new Frames(key, context, salt.subarray(0, SALT_BYTES));
        yield salt.subarray(SALT_BYTES);
      }
    }
  };
  for await (const {bytes, isLast} of cut(rest(), SEALED_FRAME_BYTES)) {
    if (frames === null) throw new UnsealError(`${salt.length} bytes are too few`);
    yield (frames as Frames).unseal(bytes, isLast);
  }
}

class Frames {
  readonly salt: Buffer;
  readonly #key: Buffer;
  readonly #context: Buffer;
  #next = 0;

  constructor(key: Buffer, context: SealContext, salt: Buffer) {
    this.salt = salt;
    this.#key = createHmac('sha256', key).update('svc segment').update(salt).digest();
    this.#context = createHash('sha256').update(JSON.stringify(context)).digest();
  }

  seal(bytes: Buffer, isLast: boolean): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#key, this.#nonce());
    cipher.setAAD(this.#additional(isLast));
    return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  unseal(frame: Buffer, isLast: boolean): Buffer {
    const end = frame.length - TAG_BYTES;
    if (end < 0) throw new UnsealError(`a frame has ${frame.length} bytes`);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, this.#nonce(), {authTagLength: TAG_BYTES});
    decipher.setAAD(this.#additional(isLast));
    decipher.setAuthTag(frame.subarray(end));
    try {
      const bytes = decipher.update(frame.subarray(0, end));
      decipher.final();
      return bytes;
    } catch (caught) {
      throw new UnsealError('the bytes or their key are not those that were sealed', {cause: caught});
    }
  }

  #nonce(): Buffer {
    const nonce = Buffer.alloc(12);
    nonce.writeUInt32BE(this.#next++, 8);
    return nonce;
  }

  #additional(isLast: boolean): Buffer {
    return Buffer.concat([this.#context, Buffer.from([isLast ? 1 : 0])]);
  }
}

/** The bytes in frames of a fixed length; only the last one is shorter, and it is there even if it is empty. */
async function* cut(
  parts: AsyncIterable<Buffer>,
  length: number,
): AsyncGenerator<{bytes: Buffer; isLast: boolean}, void, undefined> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    bytes += part.length;
    if (bytes <= length) continue;
    let whole = Buffer.concat(waiting);
    for (; whole.length > length; whole = whole.subarray(length))
      yield {bytes: whole.subarray(0, length), isLast: false};
    waiting = [Buffer.from(whole)];
    bytes = whole.length;
  }
  yield {bytes: Buffer.concat(waiting), isLast: true};
}
