/**
 * The entry points that an app's code imports come with the command itself, so that they fit the server it deploys to,
 * whatever the project has installed.
 */
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

const ENTRIES = ['server', 'values'];

/** Files of `svc/server` and the like. In a bundle they are beside it; in a checkout they are sources. */
export const SDK_FILES: ReadonlyMap<string, string> = new Map(
  ENTRIES.map(entry => {
    const built = fileURLToPath(new URL(`./sdk/${entry}.js`, import.meta.url));
    const source = fileURLToPath(new URL(`../../sdk/${entry}/index.ts`, import.meta.url));
    return [`svc/${entry}`, existsSync(built) ? built : source];
  }),
);
