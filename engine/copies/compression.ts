/** The compression of the chunks of a page set. Each chunk says which one it has. */
import * as zlib from 'node:zlib';
import {PageSetError} from './page-set-error.ts';

/** Values of the byte in a chunk: they never change. */
const STORED = 0;
const ZSTD = 1;
const DEFLATE = 2;

export type Compressed = {readonly method: number; readonly bytes: Buffer};

/** Undefined: Node before 22.15. */
const zstd = zlib.zstdCompressSync as typeof zlib.zstdCompressSync | undefined;
const unzstd = zlib.zstdDecompressSync as typeof zlib.zstdDecompressSync | undefined;
/** `none`: a set that is read again at once. `quick`: one that is merged soon, for 0.6 of the time. */
export type Effort = 'none' | 'quick' | 'usual';
const ZSTD_LEVELS = {quick: zstdLevel(-7), usual: zstdLevel(1)};

function zstdLevel(level: number): zlib.ZstdOptions {
  return {params: {[zlib.constants.ZSTD_c_compressionLevel]: level}};
}

export function compressed(raw: Buffer, effort: Effort): Compressed {
  if (effort === 'none') return {method: STORED, bytes: raw};
  const bytes = zstd === undefined ? zlib.deflateRawSync(raw, {level: 1}) : zstd(raw, ZSTD_LEVELS[effort]);
  if (bytes.length >= raw.length) return {method: STORED, bytes: raw};
  return {method: zstd === undefined ? DEFLATE : ZSTD, bytes};
}

/** @param length of the result. @throws PageSetError */
export function decompressed({method, bytes}: Compressed, length: number): Buffer {
  const raw = rawOf(method, bytes, length);
  if (raw.length !== length) throw new PageSetError('invalid', `a chunk has ${raw.length} bytes, not ${length}`);
  return raw;
}

function rawOf(method: number, bytes: Buffer, length: number): Buffer {
  if (method === STORED) return bytes;
  if (method === ZSTD && unzstd === undefined) throw new PageSetError('no_zstd', `this is Node ${process.version}`);
  const decompress = method === ZSTD ? unzstd : method === DEFLATE ? zlib.inflateRawSync : undefined;
  if (decompress === undefined) throw new PageSetError('invalid', `a chunk has the compression ${method}`);
  try {
    return decompress(bytes, {maxOutputLength: length});
  } catch (caught) {
    throw new PageSetError('invalid', `a chunk cannot be decompressed: ${(caught as Error).message}`);
  }
}
