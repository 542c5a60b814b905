/** How modules with `"use node"` are bundled: for the version of Node that the project asks for, with all of its own modules. */
import type {BuildOptions} from 'esbuild';
import type {NodeSettings} from './project-file.ts';

/** Over the options of the default runtime. */
export function nodeTarget({nodeVersion}: NodeSettings): BuildOptions {
  return {
    platform: 'node',
    conditions: ['svc', 'module'],
    target: `node${nodeVersion}`,
    // Apart from what the default runtime's modules share.
    chunkNames: '_deps/node/[name]-[hash]',
    // CommonJS has them; in an ES module they are these.
    define: {
      'process.env.NODE_ENV': '"production"',
      __dirname: 'import.meta.dirname',
      __filename: 'import.meta.filename',
    },
  };
}
