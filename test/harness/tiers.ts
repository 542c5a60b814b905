/**
 * Which test files are pure: what they import, and what that imports in turn, starts no service, command or process and
 * reads nothing of `dist/`. Told from the sources, so that no list has to be kept; used by `vitest.config.ts`.
 */
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';

/**
 * What only a test of running processes, or of the built files, has in it; or one that puts something in a module's place: pure
 * files share a process and its modules.
 */
const NEEDS_A_PROCESS = /\bdist\/|node:child_process|node:worker_threads|from 'piscina'|\bvi\.mock\(/;

/** Pure, but each takes ten seconds and more: they wait for real timers, or run through much data. */
const SLOW = [
  'test/schedule/runner.test.ts',
  'test/functions/edge/uploads.test.ts',
  'test/supervisor/interrupted.test.ts',
  'test/supervisor/child.test.ts',
  'test/queries/bounds.test.ts',
  'test/functions/socket/held-reads.test.ts',
];

export type Tiers = {pure: string[]; service: string[]};

/** Every `*.test.ts` below `test/` of the project, as paths from its root, sorted. */
export function tiersOf(root: string): Tiers {
  const known = new Map<string, boolean>();
  const tiers: Tiers = {pure: [], service: []};
  const entries = readdirSync(join(root, 'test'), {recursive: true, withFileTypes: true});
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.test.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path);
    tiers[isPure(path, root, known) && !SLOW.includes(name) ? 'pure' : 'service'].push(name);
  }
  return {pure: tiers.pure.sort(), service: tiers.service.sort()};
}

/** Of the product, a file that starts processes is no obstacle: a pure test imports what it tests and starts nothing. */
function isPure(path: string, root: string, known: Map<string, boolean>): boolean {
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, true); // A cycle is as pure as the rest of it.
  const text = readFileSync(path, 'utf8');
  const pure = !NEEDS_A_PROCESS.test(text) && importsOf(path, text, root).every(file => isPure(file, root, known));
  known.set(path, pure);
  return pure;
}

function importsOf(path: string, text: string, root: string): string[] {
  return [...text.matchAll(/^(?:import|export) (?!type ).*?from '(\.[^']+)'|^} from '(\.[^']+)'/gm)]
    .map(([, whole, ofLines]) => join(dirname(path), whole ?? ofLines!))
    .filter(file => file.startsWith(join(root, 'test/')) && existsSync(file));
}
