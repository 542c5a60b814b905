/**
 * Builds `dist/realm.js`, for the build and for tests of its content: one script for bare V8, without modules of Node
 * and without a source map (stack traces never show its frames).
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
  // Error.prepareStackTrace would receive sloppy functions and their receivers.
  banner: {js: '"use strict";'},
  // Leaves out the tables of encodings other than UTF-8, which no code here uses; loads those of host names on first
  // use.
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
