/**
 * What stands before a child's executable: programs that take something away from their process and then become the next one.
 * Whether a machine allows one is found out by running it, never by who we are: a container may refuse what root may do, and
 * a user namespace may allow what nobody may.
 */
import {execFile} from 'node:child_process';
import {CONFINEMENT_TRY_MS_MAX} from '../limits.ts';

export type Layer = {
  /** The wall that it is a part of. */
  wall: WallName;
  /** From the strongest to the weakest; the first that works is taken. */
  candidates: readonly (readonly string[])[];
};

/**
 * `privileges`: no capabilities, and none to be had. `limits`: of the kernel, on each process. `users`: each tenant has a user of
 * the system, other than the server's. `network`: none but the way out. `memory`: of a worker and its children together, by the kernel.
 * `files`: of sandboxes and Node processes, held by the kernel in addition to Node (shared/landlock.ts).
 */
export type WallName = 'privileges' | 'limits' | 'users' | 'network' | 'memory' | 'files';

/** Those that few machines give: they are missing without a warning, and `--require-sandbox` does not demand them. */
const OPTIONAL: readonly WallName[] = ['memory', 'files'];

export function isDemanded(name: WallName): boolean {
  return !OPTIONAL.includes(name);
}

/** `missing`: why it does not stand, a clause for the operator; null: it does. */
export type Wall = {name: WallName; missing: string | null};

/** For a line of the log. */
export function wallFields(walls: readonly Wall[]): {stand: string; missing: Record<string, string>} {
  const missing = walls.flatMap(({name, missing: why}) => (why === null ? [] : [[name, why] as const]));
  const stand = walls.filter(({missing: why}) => why === null).map(({name}) => name);
  return {stand: stand.join(', ') || 'none', missing: Object.fromEntries(missing)};
}

export type Stacked = {
  /** The programs with their arguments; the executable and its own follow. */
  command: readonly string[];
  walls: readonly Wall[];
};

/** Each layer is tried on top of those before it: that is how a child is started. */
export async function stack(layers: readonly Layer[]): Promise<Stacked> {
  let command: readonly string[] = [];
  const walls = new Map<WallName, string | null>();
  for (const {wall, candidates} of layers) {
    let missing: string | null = null;
    for (const candidate of candidates) {
      const failure = await failureOf([...command, ...candidate, 'true']);
      if (failure === null) {
        command = [...command, ...candidate];
        break;
      }
      // A weaker one is better than none, and is not the wall.
      missing ??= failure;
    }
    walls.set(wall, walls.get(wall) ?? missing);
  }
  return {command, walls: [...walls].map(([name, missing]) => ({name, missing}))};
}

/** Null: it ran and ended well. Otherwise what it said first. */
export function failureOf([command, ...args]: readonly string[]): Promise<string | null> {
  return new Promise(resolve => {
    execFile(command!, args, {cwd: '/', timeout: CONFINEMENT_TRY_MS_MAX}, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else if (error.code === 'ENOENT') resolve(`${command} is not on the PATH`);
      else resolve(stderr.trim().split('\n')[0] || `${command} ended with ${error.signal ?? error.code}`);
    });
  });
}
