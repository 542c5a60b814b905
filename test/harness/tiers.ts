/**
 * The tiers of the test files; used by `vitest.config.ts`. A file is pure if what it imports, and what that imports in turn, starts
 * no service, command or process and reads nothing of `dist/`. Derived from the sources, so that no list has to be kept.
 */
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';

/** What only a test of running processes, or of the built files, has in it; or one that replaces modules. */
const NEEDS_A_PROCESS = /\bdist\/|node:child_process|node:worker_threads|from 'piscina'|\bvi\.mock\(/;

/** Such a file has a process of its own: another file would get the replaced modules. */
const REPLACES_MODULES = /\bvi\.mock\(/;

/** What a file imports that has more for the nightly run than for a commit. */
const NIGHTLY_HELPER = "harness/nightly.ts'";

/** What a file imports that uses the service of its worker. */
const SHARED_SERVICE = "/shared-service.ts'";

/** Pure, but each takes ten seconds and more: they wait for real timers, or run through much data. */
const SLOW = [
  'test/schedule/runner.test.ts',
  'test/functions/edge/uploads.test.ts',
  'test/supervisor/child.test.ts',
  'test/queries/bounds.test.ts',
  'test/functions/socket/subscribed-reads.test.ts',
];

/**
 * Seconds that a file takes in the nightly run, where it is more than `NIGHTLY_SECONDS`. They size CI's sample, and order the files
 * of each run.
 */
const SECONDS: Record<string, number> = {
  'test/client/service.test.ts': 55,
  'test/cluster/adopt.test.ts': 35,
  'test/cluster/backups-of-hosts.test.ts': 45,
  'test/cluster/cluster-keys.test.ts': 60,
  'test/cluster/fenced-owners.test.ts': 80,
  'test/cluster/history.test.ts': 500,
  'test/cluster/hosts.test.ts': 70,
  'test/cluster/local-commits.test.ts': 60,
  'test/cluster/nats-faults.test.ts': 60,
  'test/cluster/nats-log.test.ts': 300,
  'test/cluster/nats-rolled-back.nightly.test.ts': 70,
  'test/cluster/nats-start.test.ts': 30,
  'test/cluster/packages-kept.test.ts': 60,
  'test/cluster/packages-of-hosts.test.ts': 110,
  'test/cluster/standby-courses.test.ts': 300,
  'test/cluster/standby-kills.test.ts': 330,
  'test/cluster/takeovers.test.ts': 80,
  'test/cluster/model/model.test.ts': 240,
  'test/control/crash.test.ts': 105,
  'test/control/services/code.test.ts': 45,
  'test/control/services/crash.test.ts': 85,
  'test/copies/full-disk.test.ts': 110,
  'test/copies/killed-restore.test.ts': 80,
  'test/copies/lost-host.test.ts': 700,
  'test/copies/repository/faults.test.ts': 200,
  'test/crash/disk-full-asleep.test.ts': 35,
  'test/crash/lost-registry.test.ts': 45,
  'test/crash/registry-trials.test.ts': 60,
  'test/crash/vanished-file.test.ts': 90,
  'test/e2e/chat.test.ts': 55,
  'test/e2e/tickets.test.ts': 35,
  'test/e2e/dashboard-cities.nightly.test.ts': 180,
  'test/functions/cli/verbs.test.ts': 50,
  'test/functions/isolate-process/ends.test.ts': 55,
  'test/functions/isolates/neighbours.test.ts': 45,
  'test/functions/node/packages.test.ts': 55,
  'test/functions/socket/one-moment.nightly.test.ts': 60,
  'test/processes/code-workers.test.ts': 35,
  'test/processes/hostile-hosts.test.ts': 60,
  'test/processes/tenant-files.test.ts': 40,
  'test/react/bundlers.nightly.test.ts': 60,
  'test/schedule/exactly-once.test.ts': 40,
  'test/storage/bit-flips.test.ts': 60,
  'test/storage/wal-log.test.ts': 40,
  'test/upgrades/older-directories.test.ts': 70,
};
const NIGHTLY_SECONDS = 25;
/** Of CI's sample: a minute with two workers. */
const SAMPLE_SECONDS = 120;

export type Tiers = {pure: string[]; served: string[]; service: string[]; isolated: string[]; nightly: string[]};

/** Every `*.test.ts` below `test/` of the project, as paths from its root, sorted. */
export function tiersOf(root: string): Tiers {
  const known = new Map<string, boolean>();
  const tiers: Tiers = {pure: [], served: [], service: [], isolated: [], nightly: []};
  const entries = readdirSync(join(root, 'test'), {recursive: true, withFileTypes: true});
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.test.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path);
    tiers[tierOf(name, path, root, known)].push(name);
  }
  for (const names of Object.values(tiers)) names.sort();
  return tiers;
}

function tierOf(name: string, path: string, root: string, known: Map<string, boolean>): keyof Tiers {
  if (name.endsWith('.nightly.test.ts')) return 'nightly';
  if (isPure(path, root, known) && !SLOW.includes(name)) return 'pure';
  const text = readFileSync(path, 'utf8');
  if (REPLACES_MODULES.test(text)) return 'isolated';
  return text.includes(SHARED_SERVICE) ? 'served' : 'service';
}

/**
 * The files that CI runs as the nightly run does, chosen by the seed: of those with anything nightly in them, as many as fit the time.
 */
export function nightlySample(root: string, seed: string): string[] {
  let left = SAMPLE_SECONDS;
  return Object.values(tiersOf(root))
    .flat()
    .filter(
      name => name.endsWith('.nightly.test.ts') || readFileSync(join(root, name), 'utf8').includes(NIGHTLY_HELPER),
    )
    .sort((a, b) => rankOf(seed, a) - rankOf(seed, b))
    .filter(name => {
      const seconds = secondsOf(name);
      if (seconds > left) return false;
      left -= seconds;
      return true;
    });
}

/** A number that orders files by chance, the same for the same seed. */
export function rankOf(seed: string, name: string): number {
  return createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE();
}

/** In the nightly run. @param name a path from the project's root */
export function secondsOf(name: string): number {
  return SECONDS[name] ?? NIGHTLY_SECONDS;
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
