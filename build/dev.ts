/** `npm run dev` builds and runs the server in this process, which `node --watch-path` restarts on a change. */
import {fileURLToPath} from 'node:url';

await import('./build.ts');
await import(fileURLToPath(new URL('../dist/cli.js', import.meta.url)));
