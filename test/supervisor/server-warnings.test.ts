/** Warnings of a server: each comes from a state that has it, and says what to do. */
import {expect, test} from 'vitest';
import {KILL_REASONS, type KillReason} from '../../supervisor/processes/child.ts';
import {type Counts, warningsOf} from '../../supervisor/server/warnings.ts';

const GIB = 2 ** 30;
const countsBy = (count: (reason: KillReason) => number) =>
  Object.fromEntries(KILL_REASONS.map(reason => [reason, count(reason)])) as Record<KillReason, number>;
type Shown = Parameters<typeof warningsOf>[0];
const QUIET: Counts = {isUnwritable: false, damage: 0, kills: countsBy(() => 0)};

function shown(over: {free?: number; available?: number; delay?: number; states?: Record<string, number>}): Shown {
  const router = {router: 0, is_answering: true, event_loop_delay_ms: over.delay ?? 3};
  return {
    disk: {free_bytes: over.free ?? 9 * GIB, tenants: [{id: 'acme', bytes: GIB}]},
    host: {memory_bytes: 8 * GIB, memory_available_bytes: over.available ?? 4 * GIB, cores: 2},
    routers: [router],
    sandbox_layers: [{name: 'files', is_required: false, missing: 'no Landlock', effect: '', to_do: 'x'}],
    settings: {max_awake: 128},
    tenants: {states: over.states ?? {}},
  } as unknown as Shown;
}

test('a server without a problem has no warnings', () => {
  expect(warningsOf(shown({}), QUIET)).toEqual([]);
});

test.each([
  ['a full disk', shown({free: GIB / 8}), {}, /128 MiB left.* 507/, /acme/, 'problem'],
  ['a disk that fills', shown({free: GIB}), {}, /1024 MiB left/, /larger disk/, 'warning'],
  ['little memory', shown({available: GIB / 2}), {}, /512 MiB are available/, /--max-awake \(128\)/, 'warning'],
  ['a slow router', shown({delay: 400}), {}, /waiting for 400 ms/, /--routers/, 'warning'],
  ['a read-only disk', shown({}), {isUnwritable: true}, /refused/, /read-only/, 'problem'],
  ['damaged reads', shown({}), {damage: 2}, /2 reads/, /svc verify/, 'problem'],
  ['damaged tenants', shown({states: {damaged: 1}}), {}, /1 tenant cannot/, /backup/, 'problem'],
  ['crashing tenants', shown({states: {cool_down: 3}}), {}, /3 tenants/, /cool_down/, 'warning'],
  [
    'ended processes',
    shown({}),
    {kills: countsBy(reason => Number(reason === 'memory'))},
    /1 process used.*ended it/,
    /log/,
    'warning',
  ],
])('%s is one', (_, status, counts, text, toDo, level) => {
  const warnings = warningsOf(status, {...QUIET, ...counts});
  expect(warnings).toEqual([{level, text: expect.stringMatching(text), to_do: expect.stringMatching(toDo)}]);
});

test('problems come first, and a missing layer is a warning if it is required', () => {
  const status = shown({states: {damaged: 1}, delay: 400});
  const [layer] = status.sandbox_layers;
  const layers = [layer!, {...layer!, name: 'users', is_required: true, missing: 'not root'}];
  const warnings = warningsOf({...status, sandbox_layers: layers}, QUIET);
  expect(warnings.map(({level}) => level)).toEqual(['problem', 'warning', 'warning']);
  expect(warnings.at(-1)!.text).toContain('The sandbox layer users is missing: not root');
});
