/** `GET /` by a browser returns a page of links. Other clients get the 404 of every unknown path. */
import type {HeaderList} from '../../shared/ipc/operations.ts';

export const HOME_TYPE = 'text/html; charset=utf-8';

export const HOME_HEADERS: HeaderList = [
  ['Cache-Control', 'no-cache'],
  ['Vary', 'Accept'],
  ['X-Content-Type-Options', 'nosniff'],
  [
    'Content-Security-Policy',
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['Referrer-Policy', 'no-referrer'],
];

export const HOME_PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <meta name="color-scheme" content="light dark">
  <title>svc</title>
  <link rel="icon" href="data:,">
  <h1>svc is running</h1>
  <ul>
    <li><a href="/api/docs">HTTP API</a>: every route, to read and to try
    <li><a href="/api/openapi.json">OpenAPI document</a>
    <li><a href="/health">Health</a>
  </ul>
  <p>Guides are in the folder docs/ of the sources: start with README.md.
</html>
`;

/** @param accept the request's header: browsers list HTML first, API clients do not list it */
export function wantsPage(method: string, path: string, accept: string): boolean {
  return method === 'GET' && path === '/' && /(?:^|,)\s*text\/html\s*(?:[,;]|$)/i.test(accept);
}
