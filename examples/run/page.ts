/**
 * An example's page as any static server would serve it: `page/main.tsx` and `page/styles.css` bundled by esbuild, and `index.html`.
 * The bundle knows where the deployment is; nothing else ties it to this server.
 */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

/** Path of a URL → what is served there. */
export type Files = Map<string, {type: string; body: Uint8Array | string}>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TYPES: Record<string, string> = {'.js': 'text/javascript', '.css': 'text/css', '.map': 'application/json'};

/** @param deployment the URL that clients are made with. @param isDevelopment with React's own checks */
export async function bundlePage(directory: string, deployment: string, isDevelopment: boolean): Promise<Files> {
  const {outputFiles} = await build({
    absWorkingDir: directory,
    entryPoints: {app: 'page/main.tsx', styles: 'page/styles.css'},
    outdir: '/',
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxDev: isDevelopment,
    minify: !isDevelopment,
    sourcemap: 'linked',
    alias: Object.fromEntries(
      ['react', 'browser', 'server', 'values'].map(entry => [`svc/${entry}`, join(ROOT, `dist/sdk/${entry}.js`)]),
    ),
    define: {
      'process.env.NODE_ENV': isDevelopment ? '"development"' : '"production"',
      SVC_DEPLOYMENT: JSON.stringify(deployment),
    },
    logLevel: 'warning',
    logOverride: {'ignored-bare-import': 'silent'}, // of one entry point of svc, where all have the same classes
  });
  const files: Files = new Map();
  for (const {path, contents} of outputFiles) {
    files.set(path, {type: `${TYPES[path.slice(path.lastIndexOf('.'))]}; charset=utf-8`, body: contents});
  }
  const html = await readFile(join(directory, 'page/index.html'), 'utf8');
  files.set('/', {type: 'text/html; charset=utf-8', body: html});
  return files;
}

/** What the page may do in a browser: run its own scripts, and talk to its own server and to the deployment. */
export function contentPolicy(deployment: string): string {
  const {origin, host, protocol} = new URL(deployment);
  const socket = `${protocol === 'https:' ? 'wss' : 'ws'}://${host}`;
  return `default-src 'self'; connect-src 'self' ${origin} ${socket}; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'`;
}
