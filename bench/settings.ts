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
  live: boolean;
  functions: boolean;
  directory: string;
  output: string;
};

type Flags = Omit<BenchSettings, 'generator'> & {quick?: true; generator?: Generator};

export function benchSettings(argv: string[]): BenchSettings {
  const flags = new Command('bench')
    .option('--quick', 'one round of one second each: to see that everything runs, not for figures')
    .option('--rounds <count>', 'rounds of everything', Number, 3)
    .option('--seconds <seconds>', 'length of each measurement', Number, 3)
    .option('--connections <count>', 'connections of the load generator', Number, 64)
    .addOption(new Option('--generator <name>', 'load generator; wrk if it is installed').choices([...GENERATORS]))
    .option('--no-pocketbase', 'leave PocketBase out')
    .option('--no-live', 'leave live queries and scheduled jobs out')
    .option('--no-functions', 'leave functions out')
    .option('--directory <directory>', 'where the data directories are made; a tmpfs has no fsync to measure', tmpdir())
    .option('--output <file>', 'the result as JSON', 'bench/results/latest.json')
    .parse(argv)
    .opts<Flags>();
  const {quick, generator, ...rest} = flags;
  return {
    ...rest,
    ...(quick === true ? {rounds: 1, seconds: 1} : {}),
    generator: generator ?? (hasWrk() ? 'wrk' : 'node'),
  };
}

function hasWrk(): boolean {
  return spawnSync('wrk', ['--version'], {stdio: 'ignore'}).error === undefined;
}
