/**
 * Serves static files that were built with svc: the API document and the page that displays it. They are public,
 * because they disclose nothing about a server. They are stored compressed (`dist/api-docs/*.gz`), read on first use
 * and kept in memory, because there are few. Clients revalidate each time (304), so an upgrade is visible at once.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import type {Exchange} from '../http/exchange.ts';
import {JSON_TYPE} from '../http/reply-head.ts';

export type ShippedRequest = {ifNoneMatch: string; acceptEncoding: string};

const DOCUMENT = 'openapi.json';
const PAGE = 'index.html';
/** The files that the page loads, and the licence notices of their authors. */
const TYPES: Readonly<Record<string, string>> = {
  [DOCUMENT]: JSON_TYPE,
  [PAGE]: 'text/html; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui.js': 'text/javascript; charset=utf-8',
  'swagger-ui.license.txt': 'text/plain; charset=utf-8',
};

const COMMON: HeaderList = [
  ['Cache-Control', 'no-cache'],
  ['Vary', 'Accept-Encoding'],
  ['X-Content-Type-Options', 'nosniff'],
];
/** Forbids external and inline resources, so that a key pasted into the page is sent only to this server. */
const OF_PAGE: HeaderList = [
  [
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['Referrer-Policy', 'no-referrer'],
];

/** One encoding of a file. */
type CachedFile = {readonly body: Buffer; readonly etag: string; readonly headers: HeaderList};

export class ShippedFiles {
  readonly #directory: URL;
  readonly #cached = new Map<string, CachedFile>();

  /** @param directory where the compressed files are */
  constructor(directory: URL) {
    this.#directory = directory;
  }

  answerDocument(exchange: Exchange, request: ShippedRequest): void {
    this.#answer(exchange, DOCUMENT, request);
  }

  answerPage(exchange: Exchange, request: ShippedRequest): void {
    this.#answer(exchange, PAGE, request);
  }

  /** @throws op.not_found 404 */
  answerFile(exchange: Exchange, name: string, request: ShippedRequest): void {
    if (!Object.hasOwn(TYPES, name) || name === DOCUMENT || name === PAGE) {
      throw new ServiceError('op.not_found', 'the page has no such file');
    }
    this.#answer(exchange, name, request);
  }

  #answer(exchange: Exchange, name: string, {ifNoneMatch, acceptEncoding}: ShippedRequest): void {
    const {success, variants} = ROUTER_OPERATIONS.openapi;
    const {body, etag, headers} = this.#read(name, takesGzip(acceptEncoding));
    if (names(ifNoneMatch, etag)) {
      exchange.reply(variants.not_modified, '', headers, '');
      return;
    }
    exchange.bodyIsShared = true;
    exchange.reply(success, body, headers, TYPES[name]);
  }

  #read(name: string, packed: boolean): CachedFile {
    const key = packed ? `${name}.gz` : name;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const stored = readFileSync(fileURLToPath(new URL(`${name}.gz`, this.#directory)));
    const body = packed ? stored : gunzipSync(stored);
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    const encoding: HeaderList = packed ? [['Content-Encoding', 'gzip']] : [];
    const headers: HeaderList = [...COMMON, ['ETag', etag], ...encoding, ...(name === PAGE ? OF_PAGE : [])];
    const cached = {body, etag, headers};
    this.#cached.set(key, cached);
    return cached;
  }
}

function takesGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(',').some(one => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(one));
}

function names(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}
