/**
 * Build options for modules with `"use node"`: for the version of Node that the project requests, with all of its
 * built-in modules.
 */
import type {BuildOptions} from 'esbuild';
import type {NodeSettings} from './project-file.ts';

/** These override the options of the default runtime. */
export function nodeTarget({nodeVersion}: NodeSettings): BuildOptions {
  return {
    platform: 'node',
    conditions: ['svc', 'module'],
    target: `node${nodeVersion}`,
    // Separate from the shared files of the default runtime's modules.
    chunkNames: '_deps/node/[name]-[hash]',
    // CommonJS has these variables; in an ES module these expressions replace them.
    define: {
      'process.env.NODE_ENV': '"production"',
      __dirname: 'import.meta.dirname',
      __filename: 'import.meta.filename',
    },
  };
}
