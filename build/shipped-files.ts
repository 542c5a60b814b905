/** Packs a directory of static files that routers serve: each compressed, and a manifest of all. */
import {Buffer} from 'node:buffer';
import {gzipSync} from 'node:zlib';
import type {Manifest, ShippedFile} from '../shared/shipped-files.ts';

/** `hash`: set if the name contains one, so the file never changes. */
export type FileToShip = Omit<ShippedFile, 'gzip'> & {readonly contents: Uint8Array};

/** @returns file names below `dist/` with their contents */
export function packFiles(
  folder: string,
  files: readonly FileToShip[],
  more: Readonly<Record<string, unknown>> = {},
): [name: string, contents: Buffer][] {
  const packed = files.map(({contents, ...file}) => ({file, gzip: gzipSync(contents, {level: 9})}));
  const manifest: Manifest = {...more, files: packed.map(({file, gzip}) => ({...file, gzip: gzip.length}))};
  return [
    ...packed.map(({file, gzip}): [string, Buffer] => [`${folder}/${file.path}.gz`, gzip]),
    [`${folder}/manifest.json`, Buffer.from(JSON.stringify(manifest))],
  ];
}
