/**
 * Packs the answers of `GET /api/openapi.json` and `GET /api/docs`: the document, and Swagger UI with a page around it.
 * The page loads nothing from other hosts.
 */
import {Buffer} from 'node:buffer';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {HeaderList} from '../shared/ipc/operations.ts';
import {openApiDocument} from './openapi/document.ts';
import {packFiles} from './shipped-files.ts';

const CSS = 'text/css; charset=utf-8';
const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** Forbids external and inline resources, so that a key pasted into the page is sent only to this server. */
const OF_PAGE: HeaderList = [
  [
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['Referrer-Policy', 'no-referrer'],
];

/** File names below `dist/` with their contents. */
export async function apiDocs(root: string, version: string): Promise<[name: string, contents: Buffer][]> {
  const page = join(root, 'build/openapi/page');
  const viewer = join(root, 'node_modules/swagger-ui-dist');
  const document = await openApiDocument(root, version);
  const notices = ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map(name =>
    readFileSync(join(viewer, name)),
  );
  return packFiles('api-docs', [
    {path: 'openapi.json', type: 'application/json', contents: Buffer.from(JSON.stringify(document))},
    {path: 'index.html', type: HTML, headers: OF_PAGE, contents: readFileSync(join(page, 'index.html'))},
    {path: 'page.css', type: CSS, contents: readFileSync(join(page, 'page.css'))},
    {path: 'page.js', type: SCRIPT, contents: readFileSync(join(page, 'page.js'))},
    {path: 'swagger-ui.css', type: CSS, contents: readFileSync(join(viewer, 'swagger-ui.css'))},
    {path: 'swagger-ui.js', type: SCRIPT, contents: readFileSync(join(viewer, 'swagger-ui-bundle.js'))},
    {path: 'swagger-ui.license.txt', type: 'text/plain; charset=utf-8', contents: Buffer.concat(notices)},
  ]);
}
