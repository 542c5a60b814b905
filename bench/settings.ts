/** The command line of `npm run bench`. */
import {spawnSync} from 'node:child_process';
import {tmpdir} from 'node:os';
import {Command, Option} from 'commander';
import {GENERATORS, type Generator} from './load/run.ts';

export type BenchSettings = {
  rounds: number;
  seconds: number;
  connections: number;
  generator: Generator;
  pocketbase: boolean;
  /** Another build's `cli.js`, measured beside this one; null: none. */
  before: string | null;
  /** Rows of HTTP that are measured; null: all. */
  only: RegExp | null;
  writes: boolean;
  bulk: boolean;
  live: boolean;
  functions: boolean;
  churn: boolean;
  sandboxes: boolean;
  dashboard: boolean;
  copies: boolean;
  cluster: boolean;
  directory: string;
  output: string;
};

type Flags = Omit<BenchSettings, 'generator' | 'before' | 'only'> & {
  quick?: true;
  generator?: Generator;
  before?: string;
  only?: string;
};

export function benchSettings(argv: string[]): BenchSettings {
  const flags = new Command('bench')
    .option('--quick', 'one round of one second each: to see that everything runs, not for figures')
    .option('--rounds <count>', 'rounds of everything', Number, 3)
    .option('--seconds <seconds>', 'length of each measurement', Number, 3)
    .option('--connections <count>', 'connections of the load generator', Number, 64)
    .addOption(new Option('--generator <name>', 'load generator; wrk if it is installed').choices([...GENERATORS]))
    .option('--before <cli.js>', 'another build of svc, measured in the same run: rows `before …`')
    .option('--only <pattern>', 'of the HTTP rows those whose name matches, such as "get|insert"')
    .option('--no-pocketbase', 'leave PocketBase out')
    .option('--no-writes', 'leave out durable writes by connections, rate, tenants and disk')
    .option('--no-bulk', 'leave the import out')
    .option('--no-live', 'leave live queries and scheduled jobs out')
    .option('--no-functions', 'leave functions out')
    .option('--no-churn', 'leave out 1,000 tenants of which 32 may be awake (some ten minutes a round)')
    .option('--no-sandboxes', 'leave sandboxes out')
    .option('--no-dashboard', 'leave the dashboard out, which needs Chromium')
    .option('--no-copies', 'leave out backups and restores')
    .option('--no-cluster', 'leave out the cluster, which needs a NATS server')
    .option('--directory <directory>', 'where the data directories are made; a tmpfs has no fsync to measure', tmpdir())
    .option('--output <file>', 'the result as JSON', 'bench/results/latest.json')
    .parse(argv)
    .opts<Flags>();
  const {quick, generator, before, only, ...rest} = flags;
  return {
    ...rest,
    ...(quick === true ? {rounds: 1, seconds: 1} : {}),
    before: before ?? null,
    only: only === undefined ? null : new RegExp(only),
    generator: generator ?? (hasWrk() ? 'wrk' : 'node'),
  };
}

function hasWrk(): boolean {
  return spawnSync('wrk', ['--version'], {stdio: 'ignore'}).error === undefined;
}
