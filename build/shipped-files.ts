/** Packs a directory of static files that routers serve: each compressed in two ways, and a manifest of all. */
import {Buffer} from 'node:buffer';
import {promisify} from 'node:util';
import {brotliCompress, constants, gzip} from 'node:zlib';
import type {Manifest, ShippedFile} from '../shared/shipped-files.ts';

/** `hash`: set if the name contains one, so the file never changes. */
export type FileToShip = Omit<ShippedFile, 'gzip' | 'brotli'> & {readonly contents: Uint8Array};
type Packed = {file: Omit<ShippedFile, 'gzip' | 'brotli'>; gzipped: Buffer; brotlied: Buffer};

/** The highest, 11, takes three times as long for 2 %. */
const BROTLI_QUALITY = 10;
const packGzip = promisify(gzip);
const packBrotli = promisify(brotliCompress);

/** @returns file names below `dist/` with their contents */
export async function packFiles(
  folder: string,
  files: readonly FileToShip[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<[name: string, contents: Buffer][]> {
  const packed = await Promise.all(files.map(pack));
  const manifest: Manifest = {
    ...more,
    files: packed.map(({file, gzipped, brotlied}) => ({...file, gzip: gzipped.length, brotli: brotlied.length})),
  };
  return [
    ...packed.flatMap(({file: {path}, gzipped, brotlied}): [string, Buffer][] => [
      [`${folder}/${path}.gz`, gzipped],
      [`${folder}/${path}.br`, brotlied],
    ]),
    [`${folder}/manifest.json`, Buffer.from(JSON.stringify(manifest))],
  ];
}

async function pack({contents, ...file}: FileToShip): Promise<Packed> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
  };
  const [gzipped, brotlied] = await Promise.all([packGzip(contents, {level: 9}), packBrotli(contents, {params})]);
  return {file, gzipped, brotlied};
}
