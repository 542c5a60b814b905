/**
 * Builds the commands in front of a child's executable: programs that restrict their process and then execute the next
 * one. Whether a machine supports a program is determined by running it, not by the current user: a container may deny
 * to root what a user namespace allows to everyone.
 */
import {execFile} from 'node:child_process';
import {CONFINEMENT_TRY_MS_MAX} from '../limits.ts';

export type Layer = {
  /** The sandbox layer that it contributes to. */
  layer: SandboxLayerName;
  /** From the strongest to the weakest; the first that works is used. */
  candidates: readonly (readonly string[])[];
};

/**
 * The sandbox layers:
 * - `privileges`: no capabilities, and no way to gain any.
 * - `limits`: kernel limits for each process.
 * - `users`: each tenant has a system user other than the server's.
 * - `network`: no network except through the egress process.
 * - `memory`: a kernel limit for a worker and its children together.
 * - `files`: file access of sandboxes and Node processes, enforced by the kernel in addition to Node
 *   (shared/landlock.ts).
 */
export type SandboxLayerName = 'privileges' | 'limits' | 'users' | 'network' | 'memory' | 'files';

/**
 * Layers that few machines support: they are missing without a warning, and `--require-sandbox` does not require them.
 */
const OPTIONAL: readonly SandboxLayerName[] = ['memory', 'files'];

export function isDemanded(name: SandboxLayerName): boolean {
  return !OPTIONAL.includes(name);
}

/** `missing`: why the layer is not active, a clause for the operator; null: it is active. */
export type SandboxLayer = {name: SandboxLayerName; missing: string | null};

/** For a line of the log. */
export function layerFields(sandboxLayers: readonly SandboxLayer[]): {stand: string; missing: Record<string, string>} {
  const missing = sandboxLayers.flatMap(({name, missing: why}) => (why === null ? [] : [[name, why] as const]));
  const stand = sandboxLayers.filter(({missing: why}) => why === null).map(({name}) => name);
  return {stand: stand.join(', ') || 'none', missing: Object.fromEntries(missing)};
}

export type Stacked = {
  /** The programs with their arguments; the executable and its arguments follow. */
  command: readonly string[];
  sandboxLayers: readonly SandboxLayer[];
};

/** Probes each layer on top of the previous ones, because children are started that way. */
export async function stack(layers: readonly Layer[]): Promise<Stacked> {
  let command: readonly string[] = [];
  const sandboxLayers = new Map<SandboxLayerName, string | null>();
  for (const {layer, candidates} of layers) {
    let missing: string | null = null;
    for (const candidate of candidates) {
      const failure = await failureOf([...command, ...candidate, 'true']);
      if (failure === null) {
        command = [...command, ...candidate];
        break;
      }
      // A weaker candidate is used because it is better than none, but the layer counts as missing.
      missing ??= failure;
    }
    sandboxLayers.set(layer, sandboxLayers.get(layer) ?? missing);
  }
  return {command, sandboxLayers: [...sandboxLayers].map(([name, missing]) => ({name, missing}))};
}

/** Null: the program ran and exited with 0. Otherwise the reason, usually the first line of its stderr. */
export function failureOf([command, ...args]: readonly string[]): Promise<string | null> {
  return new Promise(resolve => {
    execFile(command!, args, {cwd: '/', timeout: CONFINEMENT_TRY_MS_MAX}, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else if (error.code === 'ENOENT') resolve(`${command} is not on the PATH`);
      else resolve(stderr.trim().split('\n')[0] || `${command} ended with ${error.signal ?? error.code}`);
    });
  });
}
