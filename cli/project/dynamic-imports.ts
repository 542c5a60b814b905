/**
 * Routes `import(…)` in a bundle's file through the platform: an isolate has no loader of its own, and the kind of the
 * function decides whether it can import. A specifier that the bundler resolved becomes the path in the bundle; any
 * other is passed on unchanged, and fails there if it names no module. Lines stay in place, so source maps fit.
 */
import {posix} from 'node:path';
import {type DynamicImport, init, parse} from 'es-module-lexer';

const PLATFORM_IMPORT = "globalThis[Symbol.for('svc.import')]";

/**
 * The bundler's output for a relative template literal: a table of modules, which throws the bundler's own message for
 * a path outside it.
 */
const IMPORT_TABLE = /\b(globImport\w* = )__glob(?=\(\{)/g;
const PLATFORM_TABLE = `(map => path => Object.hasOwn(map, path) ? map[path]() : ${PLATFORM_IMPORT}(path))`;

/** @param path of the file in the bundle, `a/b.js` */
export async function importThroughPlatform(text: string, path: string): Promise<string> {
  const source = text.replace(IMPORT_TABLE, (_, name: string) => `${name}${PLATFORM_TABLE}`);
  if (!source.includes('import')) return source;
  await init;
  const [imports] = parse(source);
  let rewritten = '';
  let end = 0;
  for (const found of imports) {
    if (found.type !== 'dynamic') continue;
    rewritten += source.slice(end, found.importStart) + PLATFORM_IMPORT;
    end = found.dynamicStart;
    if (!isResolved(found)) continue;
    rewritten += `(${JSON.stringify(posix.join(posix.dirname(path), found.specifier))})`;
    end = found.importEnd;
  }
  return rewritten + source.slice(end);
}

function isResolved(found: DynamicImport): found is DynamicImport & {specifier: string} {
  return found.specifier !== undefined && !found.glob && /^\.\.?\//.test(found.specifier);
}
