/**
 * `npm run soak`: a server under every kind of work at a bounded pace, for as long as `--minutes` says, and whether the private memory of
 * its workers and isolate processes goes on growing once they are warm. See docs/bench.md.
 */
import {cpSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {Command} from 'commander';
import {bundleProject} from '../cli/project/bundle.ts';
import {generateCode} from '../cli/project/codegen.ts';
import {cpuSecondsWithEnded} from './measure/process-tree.ts';
import {startSvc, stopSvc} from './peers/svc/start.ts';
import {growthPerMinute, MemorySamples} from './soak/memory.ts';
import {SoakTenant} from './soak/work.ts';

/** Pauses between two runs of a kind on one tenant, at rate 1: so that all together take about a third of a processor. */
const PAUSES_MS = {
  documents: 500,
  transactions: 2_000,
  functions: 1_000,
  actions: 2_000,
  jobs: 3_000,
  crons: 10_000,
  imports: 10_000,
  deploys: 20_000,
  variables: 15_000,
  live: 3_000,
  liveFunctions: 5_000,
  streams: 5_000,
  keys: 10_000,
} as const;
type Kind = keyof typeof PAUSES_MS;
const KINDS = Object.keys(PAUSES_MS) as Kind[];

const MIB = 1024 * 1024;
const LOOK_MS = 2_000;
const SAY_EVERY_MINUTES = 5;
const GROWTH_MAX = 1;
const OVER_MINUTES = 10;
const JUDGED = new Set(['worker', 'isolates']);
const FAULTS_SHOWN = 20;

type Flags = {minutes: number; warmUp?: number; rate: number; tenants: number; only?: string; directory: string};
const flags = new Command('soak')
  .option('--minutes <minutes>', 'how long it takes', Number, 60)
  .option('--warm-up <minutes>', 'of them those that are not judged; a third unless said', Number)
  .option('--rate <factor>', 'of the pace: 2 pauses half as long', Number, 1)
  .option('--tenants <count>', 'tenants under work', Number, 3)
  .option('--only <kinds>', `some kinds of work, with commas: ${KINDS.join(', ')}`)
  .option('--directory <directory>', 'where the data directory is made', tmpdir())
  .parse()
  .opts<Flags>();
const {minutes, warmUp = minutes / 3, rate} = flags;
const kinds = KINDS.filter(kind => flags.only === undefined || flags.only.split(',').includes(kind));

const root = mkdtempSync(join(flags.directory, 'svc-soak-'));
process.once('exit', () => rmSync(root, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const svc = await startSvc(join(root, 'data'));
cpSync(join(import.meta.dirname, 'soak/app'), join(root, 'app'), {recursive: true});
await generateCode(join(root, 'app'));
const upload = await bundleProject(join(root, 'app'));
const tenants = Array.from({length: flags.tenants}, (_, i) => new SoakTenant(svc, `soak-${i}`, upload));
for (const tenant of tenants) await tenant.open();

const memory = new MemorySamples(svc.process.pid);
const done = new Map<Kind, number>(kinds.map(kind => [kind, 0]));
const faults: string[] = [];
const cpuBefore = cpuSecondsWithEnded(svc.process.pid);
await Promise.all([looking(), ...tenants.flatMap(tenant => kinds.map(kind => working(tenant, kind)))]);
const cpu = cpuSecondsWithEnded(svc.process.pid);
const isFlat = printed();
await stopSvc(svc);
process.exitCode = isFlat && faults.length === 0 ? 0 : 1;

async function working(tenant: SoakTenant, kind: Kind): Promise<void> {
  while (memory.minute < minutes) {
    try {
      await tenant[kind]();
      done.set(kind, done.get(kind)! + 1);
    } catch (caught) {
      faults.push(`${kind}: ${(caught as Error).message}`);
      if (faults.length <= FAULTS_SHOWN) say(`minute ${memory.minute.toFixed(1)}: ${faults.at(-1)}`);
    }
    await delay((PAUSES_MS[kind] * (0.5 + Math.random())) / rate);
  }
}

async function looking(): Promise<void> {
  for (let said = 0; memory.minute < minutes; await delay(LOOK_MS)) {
    memory.look();
    if (memory.minute < said) continue;
    said += Math.min(SAY_EVERY_MINUTES, minutes / 12);
    const now = memory.all
      .filter(({samples}) => samples.at(-1)!.minute > memory.minute - 0.05)
      .map(({kind, samples}) => `${kind} ${mib(samples.at(-1)!.bytes)}`);
    say(`minute ${memory.minute.toFixed(1)}: ${now.join(', ')} MiB; ${total()} rounds, ${faults.length} faults`);
  }
}

/** @returns whether no process that is judged has grown by more than it may, or has ended */
function printed(): boolean {
  let isFlat = true;
  say(
    `| process | MiB at first | after ${warmUp.toFixed(0)} min | at the end | most | growth in ${OVER_MINUTES} min |`,
  );
  say('|---|---|---|---|---|---|');
  for (const {kind, samples} of memory.all) {
    const warm = samples.filter(({minute}) => minute >= warmUp);
    const growth = (growthPerMinute(warm) * OVER_MINUTES) / MIB;
    const isWhole = samples[0]!.minute <= warmUp && samples.at(-1)!.minute > minutes - 0.2;
    if (kind === 'analysis' || kind === 'other') continue; // Of one deploy each.
    const isFine = isWhole && !(growth > GROWTH_MAX);
    if (JUDGED.has(kind) && !isFine) isFlat = false;
    const most = Math.max(...samples.map(({bytes}) => bytes));
    const figures = [samples[0]!.bytes, warm[0]?.bytes ?? Number.NaN, samples.at(-1)!.bytes, most].map(mib);
    const verdict = !JUDGED.has(kind) ? '' : isWhole ? (isFine ? ' ok' : ' GROWS') : ' ENDED OR BEGAN MEANWHILE';
    say(`| ${kind} | ${figures.join(' | ')} | ${growth.toFixed(2)}${verdict} |`);
  }
  const used = cpu === null || cpuBefore === null ? '-' : ((cpu - cpuBefore) / (minutes * 60)).toFixed(2);
  say(`${[...done].map(([kind, count]) => `${kind} ${count}`).join(', ')}: ${total()} rounds, ${faults.length} faults`);
  say(`${used} processors`);
  return isFlat;
}

function total(): number {
  return [...done.values()].reduce((sum, count) => sum + count, 0);
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(1);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
