/**
 * Packs the answers of `GET /api/openapi.json` and `GET /api/docs`: the document, and Swagger UI with a page around it.
 * The page loads nothing from other hosts.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {openApiDocument} from './openapi/document.ts';

/** File names below `dist/` with their contents. */
export async function apiDocs(root: string, version: string): Promise<[name: string, contents: Buffer][]> {
  const page = join(root, 'build/openapi/page');
  const viewer = join(root, 'node_modules/swagger-ui-dist');
  const document = await openApiDocument(root, version);
  const notices = ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'].map(name =>
    readFileSync(join(viewer, name)),
  );
  const files: [string, Buffer][] = [
    ['openapi.json', Buffer.from(JSON.stringify(document))],
    ['index.html', readFileSync(join(page, 'index.html'))],
    ['page.css', readFileSync(join(page, 'page.css'))],
    ['page.js', readFileSync(join(page, 'page.js'))],
    ['swagger-ui.css', readFileSync(join(viewer, 'swagger-ui.css'))],
    ['swagger-ui.js', readFileSync(join(viewer, 'swagger-ui-bundle.js'))],
    ['swagger-ui.license.txt', Buffer.concat(notices)],
  ];
  return files.map(([name, contents]) => [`api-docs/${name}.gz`, gzipSync(contents, {level: 9})]);
}
