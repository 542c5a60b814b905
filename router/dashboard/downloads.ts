/**
 * Tickets for downloads. A link cannot send the header of the dashboard's calls, so a page exchanges the path of an
 * export for an address that opens it once, within a minute, with the cookie of the same session:
 *
 *   /_dashboard/downloads/TICKET/api/tenants/acme/export?table=orders
 *
 * The ticket signs the session, the end and the rest of the address with a key that routers share, so each router can
 * check it without asking. Another page does not learn it, and without the cookie it opens nothing.
 */
import {createHmac, randomBytes, timingSafeEqual} from 'node:crypto';
import {Compile} from 'typebox/compile';
import {invalid, rateLimited, ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import {URL_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';
import {type Download, DownloadBody} from '../../shared/protocol/dashboard.ts';
import {parseJson} from '../../shared/values/json.ts';
import {DOWNLOAD_TICKET_MS, DOWNLOAD_TICKETS_USED_MAX} from '../limits.ts';
import {findPath} from '../routes.ts';
import {DASHBOARD_API_HEADERS} from './pages.ts';

const PREFIX = '/_dashboard/downloads/';
/** Nothing else can be opened by a link: what an export contains is saved, and never shown on the dashboard's origin. */
const OPERATIONS: readonly Operation[] = ['exports.run'];
const NONCE_BYTES = 18;
const OF_TICKET = /^([0-9a-z]+)\.([\w-]+)\.([\w-]+)$/;

const downloadBody = Compile(DownloadBody);

/** The parts of such an address; null: it is another. @param path with the ticket, without the query string */
export function downloadIn(path: string): {ticket: string; called: string} | null {
  if (!path.startsWith(PREFIX)) return null;
  const end = path.indexOf('/', PREFIX.length);
  return end === -1 ? null : {ticket: path.slice(PREFIX.length, end), called: path.slice(end)};
}

/** Of a download: saved as a file, whatever it contains and whatever a worker says it is. */
export function downloadHeaders(query: string): HeaderList {
  const search = new URLSearchParams(query);
  const name = (search.get('table') ?? 'documents').replaceAll(/\W/g, '_').slice(0, 64);
  const file = `${name}.${search.get('format') === 'csv' ? 'csv' : 'jsonl'}`;
  return [
    ...DASHBOARD_API_HEADERS,
    ['Content-Disposition', `attachment; filename="${file}"`],
    ['Content-Security-Policy', "default-src 'none'; sandbox"],
  ];
}

export class Downloads {
  readonly #key: string;
  readonly #now: () => number;
  /** Nonces of used tickets with their ends, the oldest first. */
  readonly #used = new Map<string, number>();

  /** @param now epoch milliseconds */
  constructor(key: string, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /** @param body of the request for it. @throws op.invalid_input 400 */
  make(session: string, body: Buffer): Download {
    const named = parseJson(body);
    if (!downloadBody.Check(named)) throw invalid('the body must be an object with the string path');
    const {path} = named;
    const mark = path.indexOf('?');
    const [called, query] = mark === -1 ? [path, ''] : [path.slice(0, mark), path.slice(mark + 1)];
    const answer = findPath(called, [])?.methods.get('GET')?.answer;
    if (answer === undefined || !('operation' in answer) || !OPERATIONS.includes(answer.operation)) {
      throw invalid('the path must be that of an export: /api/tenants/{tenant_id}/export?table=…');
    }
    const endMs = this.#now() + DOWNLOAD_TICKET_MS;
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const mac = this.#sign(session, endMs, nonce, called, query);
    const url = `${PREFIX}${endMs.toString(36)}.${nonce}.${mac}${called}?${query}`;
    if (url.length > URL_BYTES_MAX) {
      throw invalid(`the address of the download would be longer than ${URL_BYTES_MAX} bytes: use shorter filters`);
    }
    return {url, expires_at: endMs};
  }

  /** Uses it up. @throws auth.forbidden 403; op.rate_limited 429 */
  use(ticket: string, session: string, called: string, query: string): void {
    const [, end = '', nonce = '', mac = ''] = OF_TICKET.exec(ticket) ?? [];
    const endMs = Number.parseInt(end, 36);
    const nowMs = this.#now();
    const right = Buffer.from(this.#sign(session, endMs, nonce, called, query));
    const shown = Buffer.from(mac);
    const isSigned = shown.length === right.length && timingSafeEqual(shown, right);
    if (!isSigned || !(nowMs < endMs) || this.#used.has(nonce)) throw new ServiceError('auth.forbidden', NOT_VALID);
    for (const [old, oldEndMs] of this.#used) {
      if (nowMs < oldEndMs) break;
      this.#used.delete(old);
    }
    if (this.#used.size >= DOWNLOAD_TICKETS_USED_MAX) throw rateLimited('too many downloads began within a minute');
    this.#used.set(nonce, endMs);
  }

  #sign(session: string, endMs: number, nonce: string, called: string, query: string): string {
    const signed = ['dashboard download', session, endMs, nonce, called, query].join('\n');
    return createHmac('sha256', this.#key).update(signed).digest('base64url');
  }
}

const NOT_VALID = `this download was opened before, is older than ${DOWNLOAD_TICKET_MS / 1000} s, or is of another session: begin it again in the dashboard`;
