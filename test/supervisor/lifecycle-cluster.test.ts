/** The states of a tenant on a host of a cluster: another host can serve it, and a worker needs a grant. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {step} from '../../supervisor/tenants/lifecycle.ts';
import {hasWorker, type Input, type Lifecycle} from '../../supervisor/tenants/lifecycle-states.ts';

const NOW_MS = 1_000_000;
const ERROR = {code: 'session.worker_unavailable', message: 'no host'} as const;

const asleep: Lifecycle = {state: 'asleep', crashes: 0};
const acquiring: Lifecycle = {state: 'acquiring', crashes: 0, requested: true};
const remote: Lifecycle = {state: 'remote', crashes: 0};
const queued: Lifecycle = {state: 'queued', crashes: 0, requested: true};
const waking: Lifecycle = {state: 'waking', crashes: 0, requested: true, retried: false};
const awake: Lifecycle = {state: 'awake', crashes: 0, sinceMs: NOW_MS};
const handingOver: Lifecycle = {state: 'handing_over', crashes: 0, requested: false};
const closing: Lifecycle = {state: 'closing', crashes: 0, wanted: true, requested: true, stored: false};

const requested: Input = {type: 'want', requested: true};
const due: Input = {type: 'want', requested: false};
const ended: Input = {type: 'ended', error: null};

const INPUTS: readonly Input[] = [
  ...[requested, due, ended, {type: 'ended', error: ERROR} as const],
  ...(['confirm', 'admit', 'opened', 'held', 'move', 'given_up', 'router_ended', 'rested', 'granted'] as const).map(
    type => ({type}),
  ),
  ...(
    ['located_there', 'moved', 'hand_over', 'fence', 'pause', 'resume', 'errand', 'reopen', 'shut_down'] as const
  ).map(type => ({type})),
  {type: 'refuse', error: ERROR},
  {type: 'nowhere', error: ERROR},
  {type: 'let_go', forOther: false},
  {type: 'released', busy: false, inUse: false},
  {type: 'released', busy: true, inUse: false},
  {type: 'closed', nextDueMs: null},
];

test.each<[string, Lifecycle, Input, Lifecycle['state'], string]>([
  ['asleep, a request comes', asleep, requested, 'acquiring', 'locate'],
  ['acquiring, this host serves it', acquiring, {type: 'granted'}, 'queued', 'enqueue'],
  ['acquiring, another host serves it', acquiring, {type: 'located_there'}, 'remote', 'ready'],
  ['acquiring, no host serves it', acquiring, {type: 'nowhere', error: ERROR}, 'asleep', 'fail'],
  ['remote, a router has lost its link', remote, requested, 'acquiring', 'locate'],
  ['remote, it is due', remote, due, 'remote', ''],
  ['remote, its owner is another one', remote, {type: 'moved'}, 'asleep', 'refer_again'],
  ['remote and idle', remote, {type: 'let_go', forOther: false}, 'remote', 'release'],
  ['remote, and released', remote, {type: 'released', busy: false, inUse: false}, 'asleep', ''],
  ['queued, another host takes it', queued, {type: 'hand_over'}, 'asleep', 'fail'],
  ['waking, its worker ends before', waking, ended, 'acquiring', 'locate'],
  ['waking, the server stops', waking, {type: 'shut_down'}, 'waking', 'kill'],
  ['waking, another host takes it', waking, {type: 'hand_over'}, 'closing', 'kill'],
  ['awake, another host takes it', awake, {type: 'hand_over'}, 'handing_over', 'give_up'],
  ['handing over, routers gave it up', handingOver, {type: 'given_up'}, 'closing', 'close'],
  ['handing over, its worker ends', handingOver, ended, 'asleep', ''],
  ['handing over for a request, its worker ends', {...handingOver, requested: true}, ended, 'acquiring', 'locate'],
  ['awake, its host owns it no more', awake, {type: 'fence'}, 'closing', 'kill'],
  ['closed and wanted, its worker ends', closing, ended, 'acquiring', 'locate'],
])('%s', (_, from, input, state, effects) => {
  const {next, effects: found} = step(from, input, NOW_MS, true);
  expect([next.state, found.map(({type}) => type).join(' ')]).toEqual([state, effects]);
});

test('a worker begins only with a grant and a slot, and only its end takes it away', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...INPUTS), {maxLength: 60}), inputs => {
      let lifecycle: Lifecycle = asleep;
      let isGranted = false;
      let hasProcess = false;
      for (const input of inputs) {
        const {state} = lifecycle;
        // Inputs that only that state can get: the others would be of a process or a grant that is not there.
        if (input.type === 'ended' && !hasProcess) continue;
        const {next, effects} = step(lifecycle, input, NOW_MS, true);
        if (input.type === 'granted' && state === 'acquiring') isGranted = true;
        if (input.type === 'ended') hasProcess = false;
        for (const {type} of effects) {
          if (type === 'start') {
            expect([isGranted, hasProcess]).toEqual([true, false]);
            hasProcess = true;
          }
          if (type === 'start_errand') hasProcess = true;
        }
        lifecycle = next;
        if (lifecycle.state !== 'queued' && !hasWorker(lifecycle)) isGranted = false;
        expect(hasWorker(lifecycle)).toBe(hasProcess);
      }
    }),
    {numRuns: 3_000},
  );
});
