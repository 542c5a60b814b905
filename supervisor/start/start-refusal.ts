/**
 * Reasons for refusing a start, for the operator: the registry does not belong to the tenants' directories, or a
 * sandbox layer is missing.
 */
import {dirname, join} from 'node:path';
import {isDemanded, type SandboxLayer} from '../confinement/layers.ts';
import {StartError} from '../files/start-error.ts';
import type {FoundDirectory} from '../files/tenant-files.ts';
import {REFUSAL_DIRECTORIES_SHOWN} from '../limits.ts';

/** @param finding what is wrong with the registry, as the end of a sentence that begins with its path */
export function registryRefusal(
  registryPath: string,
  finding: string,
  directories: FoundDirectory[],
  options?: ErrorOptions,
): StartError {
  const data = dirname(registryPath);
  const shown = directories.slice(0, REFUSAL_DIRECTORIES_SHOWN);
  const more = directories.length - shown.length;
  const lines = [
    `the registry ${registryPath} ${finding}`,
    ...shown.map(({name, id}) => `  ${join(data, 'tenants', name)}: tenant ${id ?? 'unknown'}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    'Nothing was changed. If there is a copy of the registry from when the server last stopped, put it back. Otherwise',
    `svc recover --data ${data}`,
    'shows what is there; with --adopt it makes a registry of the directories, with --move-aside it puts those that no',
    'tenant should have out of the way. It deletes nothing.',
  ];
  return new StartError(lines.join('\n'), options);
}

/** @throws StartError: a required layer is missing, and --require-sandbox was given */
export function requireAll(sandboxLayers: readonly SandboxLayer[]): void {
  const demanded = sandboxLayers.filter(({name}) => isDemanded(name));
  const missing = demanded.flatMap(({name, missing: why}) => (why === null ? [] : [`  ${name}: ${why}`]));
  if (missing.length === 0) return;
  const lines = ['--require-sandbox was given, and not every wall around workers can be had here:', ...missing];
  throw new StartError([...lines, 'docs/operating.md, "Sandbox layers", lists what each one requires.'].join('\n'));
}
