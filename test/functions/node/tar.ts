/** Tarballs of any kind, sound and hostile ones. */
import {gzipSync} from 'node:zlib';

export type TarEntry = {name: string; text?: string; type?: string; size?: number; prefix?: string};

export function tarball(entries: readonly TarEntry[], end = Buffer.alloc(1024)): Buffer {
  return gzipSync(Buffer.concat([...entries.flatMap(entryOf), end]));
}

/** A record of an extended header. */
export function pax(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

function entryOf({name, text = '', type = '0', size = Buffer.byteLength(text), prefix = ''}: TarEntry): Buffer[] {
  const block = Buffer.alloc(512);
  block.write(name, 0, 100);
  block.write('0000644', 100);
  block.write(size.toString(8).padStart(11, '0'), 124);
  block.write('        ', 148);
  block.write(type, 156);
  block.write('ustar\0', 257, 'latin1');
  block.write(prefix, 345, 155);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const content = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  content.write(text);
  return [block, content];
}
