/** Which walls stand around the workers of a service, and why the others do not: what it says of itself at its start. */
import {readdirSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {SandboxLayerName} from '../../supervisor/confinement/layers.ts';
import type {Service} from './service.ts';

/** The mode of a directory that users of tenants go through where they have some of their own, and of one for the server alone. */
export function passedMode(service: Service): string {
  return missingLayer(service, 'users') === null ? '710' : '700';
}

/** Where the sockets of its workers and the ways out of its tenants are. */
export function runDirectoryOf({pid}: Service): string {
  return join(tmpdir(), readdirSync(tmpdir()).find(name => name.startsWith(`svc-${pid}-`))!);
}

/** Null: it stands. */
export function missingLayer(service: Service, layer: SandboxLayerName): string | null {
  const after = (beginning: string) =>
    service.output.find(line => line.startsWith(beginning))?.slice(beginning.length) ?? null;
  const stand = after('sandbox layers: ');
  if (stand === null) throw new Error('the service did not say which sandbox layers it has');
  return stand.split(', ').includes(layer) ? null : (after(`missing sandbox layer ${layer}: `) ?? 'it is not known');
}
