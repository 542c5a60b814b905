/**
 * The dashboard's page and its files. Every path that is not a file gets the one page, which routes by path. The page
 * has a nonce of its own in each answer, for the scripts and styles that it names and for those that its libraries add.
 */
import {randomBytes} from 'node:crypto';
import {notFound, ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import type {Exchange} from '../http/exchange.ts';
import type {ShippedFiles, ShippedRequest} from '../http/shipped-files.ts';

const PAGE = 'index.html';
const ASSETS = 'assets/';
const HTML = 'text/html; charset=utf-8';
const NONCE = /__CSP_NONCE__/g;
const NONCE_BYTES = 16;
const PATH = '/_dashboard/';

/** Of every answer on the dashboard's host. */
export const DASHBOARD_HEADERS: HeaderList = [
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Frame-Options', 'DENY'],
];
const NOSNIFF = ['X-Content-Type-Options', 'nosniff'] as const;
/** Of answers that only this session, at this moment, gets. */
export const DASHBOARD_API_HEADERS: HeaderList = [...DASHBOARD_HEADERS, NOSNIFF, ['Cache-Control', 'no-store']];
const PERMISSIONS =
  'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), midi=(), payment=(), usb=()';

export function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "require-trusted-types-for 'script'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** @throws op.method_not_allowed 405, op.not_found 404 */
export function answerPage(exchange: Exchange, path: string, files: ShippedFiles, request: ShippedRequest): void {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    throw new ServiceError('op.method_not_allowed', 'this path takes GET, HEAD');
  }
  const name = path.slice(PATH.length);
  if (name !== PAGE && files.has(name)) {
    files.answer(exchange, name, request);
    return;
  }
  if (name.startsWith(ASSETS)) throw notFound('the dashboard has no such file');
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  const page = files.areThere ? files.text(PAGE).replace(NONCE, nonce) : NOT_BUILT;
  exchange.reply(200, page, pageHeaders(nonce), HTML);
}

/** Sends a browser from another host to the dashboard's. @param origin null: it cannot be reached from there */
export function answerElsewhere(exchange: Exchange, origin: string | null, path: string, query: string): void {
  const isPage = exchange.method === 'GET' || exchange.method === 'HEAD';
  if (!isPage) throw notFound('there is no such route on this host');
  if (origin === null) exchange.reply(404, NO_ADDRESS, pageHeaders(randomBytes(NONCE_BYTES).toString('base64')), HTML);
  else {
    const search = query === '' ? '' : `?${query}`;
    exchange.reply(307, '', [
      ['Location', `${origin}${path === '/' ? PATH : path}${search}`],
      ['Cache-Control', 'no-store'],
    ]);
  }
}

function pageHeaders(nonce: string): HeaderList {
  return [
    ['Cache-Control', 'no-store'],
    NOSNIFF,
    ['Content-Security-Policy', policyOf(nonce)],
    ['Permissions-Policy', PERMISSIONS],
  ];
}

const NOT_BUILT = notice('The dashboard was not built', 'Run <code>npm run build</code>, then load this page again.');
const NO_ADDRESS = notice(
  'The dashboard has no address here',
  'It needs a name of its own. Start the server with <code>--dashboard-origin</code> and that name behind a proxy, or with ' +
    '<code>--dashboard-port</code>, or forward the port with <code>ssh -L</code> and open <code>http://dashboard.localhost</code> there.',
);

function notice(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <meta name="color-scheme" content="light dark">
  <title>${title}</title>
  <link rel="icon" href="data:,">
  <h1>${title}</h1>
  <p>${text}</p>
</html>
`;
}
