/** Which walls stand around the workers of a service, and why the others do not: what it says of itself at its start. */
import type {WallName} from '../../supervisor/confinement/layers.ts';
import type {Service} from './service.ts';

/** The mode of a directory that users of tenants go through where they have some of their own, and of one for the server alone. */
export function passedMode(service: Service): string {
  return missingWall(service, 'users') === null ? '710' : '700';
}

/** Null: it stands. */
export function missingWall(service: Service, wall: WallName): string | null {
  const line = service.log.split('\n').find(text => text.includes('"walls around workers"'));
  if (line === undefined) throw new Error('the service did not say which walls it has');
  const {stand, missing} = JSON.parse(line) as {stand: string; missing: Record<string, string>};
  return stand.split(', ').includes(wall) ? null : (missing[wall] ?? 'it is not known');
}
