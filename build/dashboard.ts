/**
 * Builds the dashboard: one HTML page, an entry, a chunk for each page and one stylesheet. File names contain a hash of
 * the content, so browsers can keep the files. `manifest.json` lists them for the server.
 */
import {createHash} from 'node:crypto';
import {globSync} from 'node:fs';
import {basename, join, relative} from 'node:path';
import {build, type Metafile, type Plugin} from 'esbuild';
import type {Manifest} from '../shared/shipped-files.ts';
import {packFiles} from './shipped-files.ts';

const ENTRY = 'dashboard/app/main.tsx';
/** The server replaces it in each page that it sends. */
const NONCE = '__CSP_NONCE__';
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4f46d8"/>' +
  '<path d="M4 6c0-2.5 8-2.5 8 0v4c0 2.5-8 2.5-8 0zM4 8c0 2.5 8 2.5 8 0" fill="none" stroke="#fff" stroke-width="1.3"/></svg>';

/** Paths of what the page loads first: `js` and what it imports, and `css`. */
type First = {js: string; imports: string[]; css: string};

/** `files`: those without a hash have names that stay, as the page has. */
export type DashboardManifest = Manifest & {entry: First};

/** File names below `dist/` with their contents. */
export async function dashboard(root: string): Promise<[name: string, contents: Buffer][]> {
  const {outputFiles, metafile} = await build({
    absWorkingDir: root,
    entryPoints: {main: ENTRY},
    outdir: join(root, 'dist/dashboard/assets'),
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    define: {'process.env.NODE_ENV': '"production"'},
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [allStyles(root)],
  });
  const outputs = new Map(Object.entries(metafile.outputs));
  const entry = [...outputs].find(([, output]) => output.entryPoint === ENTRY)!;
  // The entry's stylesheet has all styles: those of chunks would never be loaded.
  const css = entry[1].cssBundle!;
  const files = outputFiles
    .map(file => ({path: relative(root, file.path), contents: file.contents}))
    .filter(({path}) => path.endsWith('.js') || path === css)
    .map(({path, contents}) => ({path: `assets/${basename(path)}`, contents}));
  files.push({path: `assets/icon-${hashOf(Buffer.from(ICON)).slice(0, 8)}.svg`, contents: Buffer.from(ICON)});
  const first = {
    js: `assets/${basename(entry[0])}`,
    imports: staticImports(metafile, entry[0]).map(path => `assets/${basename(path)}`),
    css: `assets/${basename(css)}`,
  };
  const icon = files.at(-1)!.path;
  return packFiles(
    'dashboard',
    [
      ...files.map(({path, contents}) => ({path, contents, type: typeOf(path), hash: hashOf(contents)})),
      {path: 'index.html', contents: Buffer.from(page(first, icon)), type: 'text/html; charset=utf-8'},
    ],
    {entry: first},
  );
}

function typeOf(path: string): string {
  return TYPES[path.slice(path.lastIndexOf('.') + 1)]!;
}

/** What a file imports before it runs, directly or by way of others. */
function staticImports({outputs}: Metafile, path: string, found: string[] = []): string[] {
  for (const {path: imported, kind} of outputs[path]?.imports ?? [])
    if (kind === 'import-statement' && !found.includes(imported)) {
      found.push(imported);
      staticImports({inputs: {}, outputs}, imported, found);
    }
  return found;
}

function page(entry: First, icon: string): string {
  const at = (path: string) => `/_dashboard/${path}`;
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta property="csp-nonce" content="${NONCE}">`,
    '<title>svc</title>',
    `<link rel="icon" href="${at(icon)}">`,
    `<link rel="stylesheet" href="${at(entry.css)}" nonce="${NONCE}">`,
    ...entry.imports.map(path => `<link rel="modulepreload" href="${at(path)}" nonce="${NONCE}">`),
    `<script type="module" src="${at(entry.js)}" nonce="${NONCE}"></script>`,
    '</head>',
    '<body><div id="root"></div></body>',
    '</html>',
    '',
  ].join('\n');
}

function hashOf(contents: Uint8Array): string {
  return createHash('sha256').update(contents).digest('hex');
}

/** Makes `app/styles.ts` import every stylesheet of the dashboard, pages' after those of the parts that they use. */
function allStyles(root: string): Plugin {
  return {
    name: 'all styles',
    setup({onLoad}) {
      onLoad({filter: /\bdashboard[/\\]app[/\\]styles\.ts$/}, () => {
        const ofParts = globSync('dashboard/parts/**/*.module.css', {cwd: root}).sort();
        const ofPages = globSync('dashboard/{app,pages}/**/*.module.css', {cwd: root}).sort();
        const imports = [...ofParts, ...ofPages].map(path => `import ${JSON.stringify(`./${path}`)};`);
        return {contents: imports.join('\n'), loader: 'js', resolveDir: root};
      });
    },
  };
}
