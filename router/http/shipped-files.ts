/**
 * Serves a directory of static files that were built with svc: the API document with its page, and the dashboard. They
 * are public, because they disclose nothing about a server. They are stored in brotli and in gzip, beside the manifest
 * that names them, read on first use and kept in memory, because there are few. A file whose name contains its hash
 * never changes; clients revalidate the others each time (304), so an upgrade is visible at once.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import {notFound} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import type {Manifest, ShippedFile} from '../../shared/shipped-files.ts';
import type {Exchange} from './exchange.ts';

export type ShippedRequest = {ifNoneMatch: string; acceptEncoding: string};

const COMMON: HeaderList = [
  ['Vary', 'Accept-Encoding'],
  ['X-Content-Type-Options', 'nosniff'],
];
const IMMUTABLE = 'public, max-age=31536000, immutable';
const REVALIDATED = 'no-cache';

/** Names of stored encodings, by their names in HTTP; the best comes first. */
const STORED = {br: 'br', gzip: 'gz'} as const;
type Encoding = keyof typeof STORED;

/** A weight of 0 refuses it. */
const BROTLI = /^\s*br\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i;
const GZIP = /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i;

/** One encoding of a file. */
type CachedFile = {readonly body: Buffer; readonly etag: string; readonly headers: HeaderList};

export class ShippedFiles {
  readonly #directory: URL;
  #manifest: ReadonlyMap<string, ShippedFile> | null = null;
  readonly #cached = new Map<string, CachedFile>();

  /** @param directory where the manifest and the compressed files are */
  constructor(directory: URL) {
    this.#directory = directory;
  }

  /** Whether the directory was built. */
  get areThere(): boolean {
    return this.#files().size > 0;
  }

  has(path: string): boolean {
    return this.#files().has(path);
  }

  /** @throws op.not_found 404 */
  answer(exchange: Exchange, path: string, {ifNoneMatch, acceptEncoding}: ShippedRequest): void {
    const file = this.#files().get(path);
    if (file === undefined) throw notFound('the page has no such file');
    const {success, variants} = ROUTER_OPERATIONS.openapi;
    const {body, etag, headers} = this.#read(file, encodingFor(acceptEncoding));
    if (names(ifNoneMatch, etag)) {
      exchange.reply(variants.not_modified, '', headers, '');
      return;
    }
    exchange.bodyIsShared = true;
    exchange.reply(success, body, headers, file.type);
  }

  /** The text of a file that the manifest names. */
  text(path: string): string {
    return this.#read(this.#files().get(path)!, null).body.toString();
  }

  #files(): ReadonlyMap<string, ShippedFile> {
    if (this.#manifest !== null) return this.#manifest;
    let text: string;
    try {
      text = readFileSync(fileURLToPath(new URL('manifest.json', this.#directory)), 'utf8');
    } catch (caught) {
      if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') throw caught;
      return new Map(); // not built: it may be later
    }
    this.#manifest = new Map((JSON.parse(text) as Manifest).files.map(file => [file.path, file]));
    return this.#manifest;
  }

  /** @param encoding null: not compressed */
  #read({path, hash, headers: own = []}: ShippedFile, encoding: Encoding | null): CachedFile {
    const key = `${path}:${encoding}`;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const stored = readFileSync(fileURLToPath(new URL(`${path}.${STORED[encoding ?? 'gzip']}`, this.#directory)));
    const body = encoding === null ? gunzipSync(stored) : stored;
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    const encoded: HeaderList = encoding === null ? [] : [['Content-Encoding', encoding]];
    const caching: HeaderList = [['Cache-Control', hash === undefined ? REVALIDATED : IMMUTABLE]];
    const cached = {body, etag, headers: [...caching, ...COMMON, ['ETag', etag], ...encoded, ...own] as HeaderList};
    this.#cached.set(key, cached);
    return cached;
  }
}

/** Null: neither. Weights are not compared: every client that sends both unpacks both. */
function encodingFor(acceptEncoding: string): Encoding | null {
  if (takes(acceptEncoding, BROTLI)) return 'br';
  return takes(acceptEncoding, GZIP) ? 'gzip' : null;
}

function takes(acceptEncoding: string, encoding: RegExp): boolean {
  return acceptEncoding.split(',').some(one => encoding.test(one));
}

function names(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}
