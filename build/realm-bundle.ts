/**
 * How `dist/realm.js` is made, for the build and for tests of what is in it: one script for bare V8, without modules of Node
 * and without a source map (its own frames are not shown to anybody).
 */
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {BuildOptions} from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const web = join(root, 'worker/runtime/guest/globals/web');

export const realmBundle = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  entryPoints: {realm: 'worker/runtime/guest/kernel.ts'},
  platform: 'neutral',
  mainFields: ['module', 'main'],
  conditions: ['import', 'default'],
  format: 'iife',
  target: 'es2023',
  // Sloppy functions would be handed to Error.prepareStackTrace, with what they were called on.
  banner: {js: '"use strict";'},
  // Without the tables of other encodings than UTF-8, which nothing here asks for; with those of host names when one needs them.
  alias: {
    '@exodus/bytes/encoding.js': join(web, 'percent-encoding.ts'),
    '@exodus/bytes/whatwg.js': join(web, 'percent-encoding.ts'),
    tr46: join(web, 'domain-names.ts'),
    'tr46-with-tables': join(root, 'node_modules/tr46'),
  },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  logLevel: 'warning',
} satisfies BuildOptions;
