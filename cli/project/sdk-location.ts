/**
 * Resolves the entry points that an app's code imports to those of the command itself, so that they fit the server that
 * it deploys to, whatever the project has installed. Their files have names of their own (`svc:sdk/server.js`): the
 * command's location appears nowhere in a bundle, so the same project gives the same bundle on every machine.
 */
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {extname, join, posix} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Loader, Plugin} from 'esbuild';

const ENTRIES = ['server', 'values', 'compat/server', 'compat/values'];
const NAMESPACE = 'svc';

/** In a bundle the entry points are built and lie next to it; in a checkout they are sources. */
const BUILT = fileURLToPath(new URL('.//', import.meta.url));
const IS_BUILT = existsSync(join(BUILT, fileOf('server', true)));
const ROOT = IS_BUILT ? BUILT : fileURLToPath(new URL('../../', import.meta.url));

/** Resolves `svc/server` and the like, and the files that they import. */
export function sdkPlugin(): Plugin {
  // The compatibility layer for Convex announces itself when it is loaded.
  const resolved = (path: string) => ({path, namespace: NAMESPACE, sideEffects: path.includes('compat')});
  return {
    name: NAMESPACE,
    setup({onResolve, onLoad}) {
      onResolve({filter: /^svc\/[\w/]+$/}, ({path}) => {
        const entry = path.slice('svc/'.length);
        return ENTRIES.includes(entry) ? resolved(fileOf(entry, IS_BUILT)) : undefined;
      });
      onResolve({filter: /^\./, namespace: NAMESPACE}, ({path, importer}) =>
        resolved(posix.join(posix.dirname(importer), path)),
      );
      onLoad({filter: /.*/, namespace: NAMESPACE}, async ({path}) => ({
        contents: await readFile(join(ROOT, path), 'utf8'),
        loader: extname(path).slice(1) as Loader,
      }));
    },
  };
}

function fileOf(entry: string, isBuilt: boolean): string {
  return isBuilt ? `sdk/${entry}.js` : `sdk/${entry}/index.ts`;
}
