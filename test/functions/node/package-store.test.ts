/** Packages of a tenant on disk: what is taken of a tarball, what is refused, what stays and what goes. */
import {createHash} from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {PACKAGES_KEPT_BYTES_MAX} from '../../../shared/limits.ts';
import {
  PACKAGE_FILE_BYTES_MAX,
  PACKAGE_PATH_CHARS_MAX,
  PACKAGE_UNUSED_KEEP_MS,
  PACKAGES_UNPACKED_BYTES_MAX,
} from '../../../worker/runtime/limits.ts';
import {PackageStore} from '../../../worker/runtime/node/package-store.ts';
import {pax, type TarEntry, tarball} from './tar.ts';

let tenant: string;
let store: PackageStore;
beforeEach(() => {
  tenant = mkdtempSync(join(tmpdir(), 'svc-packages-'));
  store = new PackageStore(tenant);
});
afterEach(() => rmSync(tenant, {recursive: true}));

const NONE: () => ReadonlySet<string> = () => new Set();
const shaOf = (bytes: Buffer) => createHash('sha512').update(bytes).digest('hex');

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
}

async function added(bytes: Buffer): Promise<string> {
  const sha512 = shaOf(bytes);
  await store.add(sha512, inChunks(bytes), NONE);
  return sha512;
}

async function unpacked(entries: readonly TarEntry[]): Promise<readonly string[]> {
  return (await store.unpacked(await added(tarball(entries)))).files;
}

describe('a tarball', () => {
  test('is the files below its first directory, whatever that is called', async () => {
    const long = `package/${'deep/'.repeat(30)}file.js`;
    const files = await unpacked([
      {name: 'package/', type: '5'},
      {name: 'package/a.js', text: 'a'},
      {name: '/other/./b//c.js', text: 'c'},
      {name: 'header', type: 'x', text: pax('path', long)},
      {name: 'package/cut', text: 'long'},
      {name: '././@LongLink', type: 'L', text: 'package/gnu/name.js\0'},
      {name: 'package/cut', text: 'gnu'},
      {name: 'e.js', prefix: 'package/d', text: 'e'},
      {name: 'package/empty.js'},
    ]);
    expect(files).toEqual(['a.js', 'b/c.js', long.slice(8), 'gnu/name.js', 'd/e.js', 'empty.js']);
    const [sha512] = readdirSync(join(tenant, 'packages'));
    expect(readFileSync(join(tenant, 'packages', sha512!, 'd/e.js'), 'utf8')).toBe('e');
  });

  test('may hold links and devices: they are passed over, as npm does', async () => {
    const files = await unpacked([
      {name: 'package/link', type: '2'},
      {name: 'package/hard', type: '1'},
      {name: 'package/pipe', type: '6'},
      {name: 'package/null', type: '3'},
      {name: 'global', type: 'g', text: pax('comment', 'of git')},
      {name: 'package/a.js', text: 'a'},
    ]);
    expect(files).toEqual(['a.js']);
  });

  test('may not go on for ever with what is passed over', async () => {
    const part = gzipSync(Buffer.alloc(2 ** 24));
    const parts = Math.ceil((1.5 * PACKAGES_UNPACKED_BYTES_MAX) / 2 ** 24);
    const head = tarball([{name: 'package/', type: '5', size: parts * 2 ** 24}], Buffer.alloc(0));
    const sha512 = await added(Buffer.concat([head, ...Array<Buffer>(parts).fill(part)]));
    await expect(store.unpacked(sha512)).rejects.toThrow('unpacks to more than');
  });

  test('that is refused leaves no files', async () => {
    const sha512 = await added(tarball([{name: 'package/a.js', text: 'a'}, {name: 'package/../../b.js'}]));
    await expect(store.unpacked(sha512)).rejects.toThrow('has a file');
    expect(readdirSync(join(tenant, 'packages'))).toEqual([`${sha512}.tgz`]);
  });

  test.each<[string, TarEntry[], string]>([
    ['a path that leads out', [{name: 'package/../../../a.js'}], 'has a file "package/../../../a.js"'],
    [
      'such a path in an extended header',
      [{name: 'x', type: 'x', text: pax('path', 'package/../a.js')}, {name: 'package/a'}],
      'has a file "package/../a.js"',
    ],
    ['a file twice', [{name: 'package/a.js'}, {name: 'package/a.js'}], 'has two files "a.js"'],
    ['a file that is a directory', [{name: 'package/a'}, {name: 'package/a/b'}], 'has a file that is also a directory'],
    ['a directory that is a file', [{name: 'package/a/b'}, {name: 'package/a'}], 'has a file that is also a directory'],
    [
      'a name that is too long',
      [{name: 'x', type: 'L', text: `package/${'a/'.repeat(PACKAGE_PATH_CHARS_MAX)}`}, {name: 'package/a'}],
      'whose name is too long',
    ],
    [
      'a part of a name that is too long',
      [{name: 'x', type: 'L', text: `package/${'a'.repeat(256)}`}, {name: 'package/a'}],
      'whose name is too long',
    ],
    [
      'a file that is too large',
      [{name: 'package/a', size: PACKAGE_FILE_BYTES_MAX + 1}],
      `the limit is ${PACKAGE_FILE_BYTES_MAX}`,
    ],
    ['an extended header that is too large', [{name: 'x', type: 'x', size: 1024 * 1024}], 'the limit is 65536'],
    ['an extended header that is none', [{name: 'x', type: 'x', text: '99 path=a\n'}], 'is no tar'],
    ['a file that is not all there', [{name: 'package/a', size: 4_096, text: 'x'}], 'ends in the middle of a file'],
  ])('with %s is refused', async (_name, entries, reason) => {
    await expect(unpacked(entries)).rejects.toThrow(reason);
  });

  test.each<[string, Buffer, string]>([
    ['nothing', Buffer.alloc(0), 'is no gzipped tar'],
    ['no gzip', Buffer.from('<html>404</html>'), 'is no gzipped tar'],
    ['half a gzip', tarball([{name: 'package/a', text: 'a'.repeat(10_000)}]).subarray(0, 60), 'is no gzipped tar'],
    ['a gzip of something else', tarball([], Buffer.alloc(1_024, 'text')), 'is no tar'],
  ])('that is %s is refused', async (_name, bytes, reason) => {
    const sha512 = await added(bytes);
    await expect(store.unpacked(sha512)).rejects.toThrow(reason);
  });

  test('without its end is one all the same, as npm reads it', async () => {
    const sha512 = await added(tarball([{name: 'package/a.js', text: 'a'}], Buffer.alloc(0)));
    expect((await store.unpacked(sha512)).files).toEqual(['a.js']);
  });
});

describe('the store', () => {
  const SOUND = tarball([{name: 'package/a.js', text: 'a'}]);
  const NAME = shaOf(SOUND);
  const names = () => readdirSync(join(tenant, 'packages')).sort();
  const age = (name: string) => {
    const old = new Date(Date.now() - PACKAGE_UNUSED_KEEP_MS - 1_000);
    utimesSync(join(tenant, 'packages', name), old, old);
  };

  test('takes nothing that is not what its name says, and leaves nothing of it', async () => {
    await expect(store.add('0'.repeat(128), inChunks(SOUND), NONE)).rejects.toMatchObject({code: 'op.invalid_input'});
    await expect(store.add('../../a', inChunks(SOUND), NONE)).rejects.toMatchObject({code: 'op.invalid_input'});
    expect(names()).toEqual([]);
  });

  test('says which are missing: those that are damaged too, and sending one again mends it', async () => {
    const other = shaOf(Buffer.from('other'));
    await added(SOUND);
    expect(await store.missing([NAME, other, NAME])).toEqual([other]);
    truncateSync(join(tenant, 'packages', `${NAME}.tgz`), 5);
    expect(await store.missing([NAME])).toEqual([NAME]);
    await expect(store.unpacked(NAME)).rejects.toMatchObject({code: 'op.storage_damaged'});
    await added(SOUND);
    expect((await store.unpacked(NAME)).files).toEqual(['a.js']);
  });

  test('writes files again that are not what the tarball has, once in a worker', async () => {
    await added(SOUND);
    await store.unpacked(NAME);
    const file = join(tenant, 'packages', NAME, 'a.js');
    const root = join(tenant, 'node');
    const at = [{path: 'node_modules/a', version: '1.0.0', sha512: NAME}];
    await store.layOut(root, at);
    rmSync(file);
    writeFileSync(file, 'damaged');
    const next = new PackageStore(tenant);
    await next.layOut(root, at);
    expect(readFileSync(join(root, 'node_modules/a/a.js'), 'utf8')).toBe('a');
    expect(readFileSync(file, 'utf8')).toBe('a');
  });

  test('keeps what deployments have, and for an hour what they may be about to have', async () => {
    await added(SOUND);
    await store.unpacked(NAME);
    const half = `${NAME}.0.tmp`;
    writeFileSync(join(tenant, 'packages', half), '');
    await store.forget(NONE);
    expect(names()).toEqual([NAME, half, `${NAME}.tgz`].sort());
    age(`${NAME}.tgz`);
    age(half);
    await store.forget(() => new Set([NAME]));
    expect(names()).toEqual([NAME, `${NAME}.tgz`]);
    // Asked about, it is about to be deployed.
    await store.missing([NAME]);
    await store.forget(NONE);
    expect(names()).toEqual([NAME, `${NAME}.tgz`]);
    age(`${NAME}.tgz`);
    await store.forget(NONE);
    expect(names()).toEqual([]);
  });

  test('has a limit, which those that nobody has make room in', async () => {
    await added(SOUND);
    const large = join(tenant, 'packages', `${'a'.repeat(128)}.tgz`);
    writeFileSync(large, '');
    truncateSync(large, PACKAGES_KEPT_BYTES_MAX);
    const other = tarball([{name: 'package/b.js', text: 'b'}]);
    store = new PackageStore(tenant);
    await expect(added(other)).rejects.toMatchObject({code: 'op.rate_limited'});
    age(`${'a'.repeat(128)}.tgz`);
    await added(other);
    expect(existsSync(large)).toBe(false);
  });
});
