/** The supervisor stops idle tenants, so it must know of those whose documents a router answers without their workers. */
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, expect, test, vi} from 'vitest';
import {ACTIVITY_INTERVAL_MS} from '../../router/limits.ts';
import {TenantDirectory} from '../../router/tenants/directory.ts';
import type {RouterToSupervisor} from '../../shared/ipc/control.ts';
import {FrameFlag} from '../../shared/ipc/frame.ts';
import {createLogger} from '../../shared/log.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {RecordedRequest, ScriptedWorker} from './scripted-worker.ts';

const worker = new ScriptedWorker('acme', false);
afterEach(() => {
  vi.useRealTimers();
  worker.die();
});

test('a document from memory counts as activity of its tenant, one that is not found does not', async () => {
  vi.useFakeTimers({toFake: ['setInterval']});
  const sent: RouterToSupervisor[] = [];
  const log = createLogger({}, {write: () => undefined});
  const state = {tenants: ['acme'], returning: [], suspects: []};
  const directory = new TenantDirectory(state, 1, message => void sent.push(message), log, new RouterMetrics());
  const active = () => {
    sent.length = 0;
    vi.advanceTimersByTime(ACTIVITY_INTERVAL_MS);
    return sent.flatMap(message => (message.type === 'activity' ? message.active : []));
  };
  await worker.listen();
  directory.receive({type: 'worker_ready', address: worker.address});
  const tenant = directory.find('acme')!;
  const cacheAs = {table: 't', id: 'a'};
  const request = new RecordedRequest(true, '', null, {cacheAs});
  directory.forward(tenant, request);
  await worker.received(2);
  worker.answer('"1-1"', 'text', FrameFlag.cacheable);
  expect(await request.outcome).toBe('200 text');
  await nextTurn();
  expect([active(), active()]).toEqual([['acme'], []]);
  expect(directory.cached(tenant, cacheAs, performance.now())?.body.toString()).toBe('text');
  expect([active(), active()]).toEqual([['acme'], []]);
  expect(directory.cached(tenant, {table: 't', id: 'b'}, performance.now())).toBeNull();
  expect(active()).toEqual([]);
});
