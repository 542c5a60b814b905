/** What the figures were measured on: without it they say nothing. */
import {execFileSync} from 'node:child_process';
import {statfsSync} from 'node:fs';
import {availableParallelism, cpus, release, totalmem, type} from 'node:os';

export type Machine = {
  date: string;
  cpu: string;
  cpus: number;
  memoryGiB: number;
  system: string;
  node: string;
  /** The file system of the data directories; 0x1021994 is tmpfs, on which fsync costs nothing. */
  fileSystemType: string;
  revision: string;
};

export function machine(directory: string): Machine {
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cpus: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    fileSystemType: `0x${statfsSync(directory).type.toString(16)}`,
    revision: revision(),
  };
}

function revision(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {stdio: ['ignore', 'pipe', 'ignore']})
      .toString()
      .trim();
  } catch {
    return 'unknown'; // not a checkout
  }
}
