/** Bases of tenants that sleep: each is made, or its tenant is woken, or there is a fault that the copier shows. */
import {expect, test} from 'vitest';
import {ServiceError} from '../../shared/errors.ts';
import type {Errand} from '../../shared/ipc/errand.ts';
import {createLogger} from '../../shared/log.ts';
import {TenantFiles} from '../../supervisor/files/tenant-files.ts';
import type {Worker} from '../../supervisor/processes/worker-pool.ts';
import {Bases} from '../../supervisor/server/bases.ts';
import {Errands} from '../../supervisor/tenants/errands.ts';
import type {Lifecycle} from '../../supervisor/tenants/lifecycle-states.ts';
import {TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';
import {TenantUsers} from '../../supervisor/tenants/tenant-users.ts';
import {until} from '../harness/until.ts';

const log = createLogger({}, {level: 'error', write: () => undefined});
const ASLEEP: Lifecycle = {state: 'asleep', crashes: 0};
const inUse = new ServiceError('op.conflict', 'in use');
const damaged = new ServiceError('op.storage_damaged', 'a page is damaged');
const paused = new ServiceError('session.tenant_paused', 'it is paused');

type Made = number | null | ServiceError;

/** @returns what the copier gets to know, in order */
async function after(made: Made, {lifecycle = ASLEEP, wake = null as ServiceError | null} = {}): Promise<string[]> {
  const said: string[] = [];
  const entry = new TenantEntry({id: 'a', generation: 1, createdMs: 0}, {isMarkedAwake: false, isToOpen: false});
  entry.lifecycle = lifecycle;
  const bases = new Bases({
    placement: {find: () => entry},
    errands: {
      runFor: () => (made instanceof ServiceError ? Promise.reject(made) : Promise.resolve({commit: made})),
    },
    control: {
      wake: () => {
        said.push('woken');
        return wake === null ? Promise.resolve(1) : Promise.reject(wake);
      },
    },
    beginTimeline: () => Promise.resolve(),
    lookAgain: () => said.push('look again'),
    failed: (_, message) => said.push(message),
    log,
  });
  bases.due('a');
  await new Promise(resolve => setImmediate(resolve));
  return said;
}

test.each<[string, Made, Parameters<typeof after>[1], string[]]>([
  ['a base', 3, {}, ['look again']],
  ['one of an earlier version is woken, which migrates it', null, {}, ['woken', 'look again']],
  ['… paused: a fault', null, {wake: paused}, ['woken', 'its base cannot be made: it is paused']],
  ['a damaged file: a fault', damaged, {}, ['its base cannot be made: a page is damaged']],
  ['in use and not awake: a fault', inUse, {}, ['its base cannot be made: in use']],
  ['awake by now: its worker makes it', inUse, {lifecycle: {state: 'awake', crashes: 0, sinceMs: 0}}, []],
])('%s', async (_, made, how, said) => {
  expect(await after(made, how)).toEqual(said);
});

test('a base and a file that is taken in do not wait for a drill', async () => {
  const begun: string[] = [];
  const child = {killAfter: () => undefined};
  const worker = {child, runErrand: (_: unknown, {kind}: Errand) => begun.push(kind)} as unknown as Worker;
  const errands = new Errands({
    pool: {forErrand: () => worker},
    users: new TenantUsers(null, '/none', log),
    files: new TenantFiles('/none'),
    placement: {find: () => undefined, give: () => undefined, errandEnded: () => undefined},
    settings: {} as ConstructorParameters<typeof Errands>[0]['settings'],
    reservePath: '',
    log,
  });
  const place = {directory: '/none', tenant: 'a', generation: 1, createdMs: 0, runsCode: false};
  const expected = {timeline: '', pageBytes: 0, commit: 0, sequence: 0, timeMs: 0, pages: 0, digest: ''};
  void errands.runIn(place, {kind: 'drill', expected});
  void errands.runIn(place, {kind: 'base'});
  void errands.runIn(place, {kind: 'adopt', check: 'whole'});
  await until('all have begun', () => begun.length === 3);
});
