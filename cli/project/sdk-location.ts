/**
 * The entry points that an app's code imports come with the command itself, so that they fit the server it deploys to,
 * whatever the project has installed. Their files go by names of their own (`svc:sdk/server.js`): where the command is
 * installed shows nowhere in a bundle, so that the same project is the same bundle on every machine.
 */
import {existsSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {extname, join, posix} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Loader, Plugin} from 'esbuild';

const ENTRIES = ['server', 'values', 'compat/server', 'compat/values'];
const NAMESPACE = 'svc';

/** In a bundle the entry points are built, beside it; in a checkout they are sources. */
const BUILT = fileURLToPath(new URL('.//', import.meta.url));
const IS_BUILT = existsSync(join(BUILT, fileOf('server', true)));
const ROOT = IS_BUILT ? BUILT : fileURLToPath(new URL('../../', import.meta.url));

/** Resolves `svc/server` and the like, and what is behind them. */
export function sdkPlugin(): Plugin {
  // What is for Convex says so where it is loaded.
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
