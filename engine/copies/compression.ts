/** The compression of the chunks of a page set. Each chunk says which one it has. */
import {promisify} from 'node:util';
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
type Output = {maxOutputLength: number; chunkSize: number};
/** With a full buffer, zlib would allocate a second one. */
const SPARE_BYTES = 64;
type Aside = (bytes: Buffer, options: Output) => Promise<Buffer>;
const unzstdAside: Aside | undefined = zlib.zstdDecompress && promisify(zlib.zstdDecompress);
const inflateAside: Aside = promisify(zlib.inflateRaw);
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
  try {
    const decompress = {[ZSTD]: unzstd, [DEFLATE]: zlib.inflateRawSync}[checked(method)];
    return ofLength(decompress?.(bytes, outputOf(length)) ?? bytes, length);
  } catch (caught) {
    throw fault(caught);
  }
}

/** As `decompressed`, in another thread. */
export async function decompressedAside({method, bytes}: Compressed, length: number): Promise<Buffer> {
  try {
    const decompress = {[ZSTD]: unzstdAside, [DEFLATE]: inflateAside}[checked(method)];
    return ofLength((await decompress?.(bytes, outputOf(length))) ?? bytes, length);
  } catch (caught) {
    throw fault(caught);
  }
}

/** All of it in one buffer: by default it comes in parts of 16 KiB. */
function outputOf(length: number): Output {
  return {maxOutputLength: length, chunkSize: length + SPARE_BYTES};
}

function checked(method: number): number {
  if (method === ZSTD && unzstd === undefined) throw new PageSetError('no_zstd', `this is Node ${process.version}`);
  if ([STORED, ZSTD, DEFLATE].includes(method)) return method;
  throw new PageSetError('invalid', `a chunk has the compression ${method}`);
}

function ofLength(raw: Buffer, length: number): Buffer {
  if (raw.length !== length) throw new PageSetError('invalid', `a chunk has ${raw.length} bytes, not ${length}`);
  return raw;
}

function fault(caught: unknown): PageSetError {
  if (caught instanceof PageSetError) return caught;
  return new PageSetError('invalid', `a chunk cannot be decompressed: ${(caught as Error).message}`);
}
