/**
 * The kernel's script (`dist/realm.js`, bundled from `guest/kernel.ts`), read once per thread. V8's code cache of it
 * stays in memory, so that only the first realm of a thread pays for the parse.
 */
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type ivm from 'isolated-vm';

const here = dirname(fileURLToPath(import.meta.url));
/** Next to the bundle that runs this; from a source checkout in `dist/`. */
const PLACES = [join(here, 'realm.js'), join(here, '../../../dist/realm.js')];

let source: string | null = null;
let cachedData: ivm.ExternalCopy<ArrayBuffer> | null = null;

export function compileKernel(isolate: ivm.Isolate): ivm.Script {
  source ??= readFileSync(PLACES.find(existsSync) ?? PLACES[0]!, 'utf8');
  const filename = 'svc:realm';
  if (cachedData !== null) return isolate.compileScriptSync(source, {filename, cachedData});
  const script: ivm.Script & ivm.CachedDataResult = isolate.compileScriptSync(source, {
    filename,
    produceCachedData: true,
  });
  cachedData = script.cachedData ?? null;
  return script;
}
