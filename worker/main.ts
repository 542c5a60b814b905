/**
 * A worker process: starts without a tenant (a spare), opens the tenant that the supervisor assigns, and serves routers
 * over its socket until it is closed. With a directory as its argument it first runs a warm-up in that directory; with
 * WARM_FUNCTIONS behind it, also that of functions.
 *
 *   (warming up ──▶) spare ──open──▶ opening ──▶ serving ──close──▶ closing ──▶ exit 0
 *                      └ open_failed: exit 1; needs_isolates: exit 1
 *                      └──errand──▶ doing it ──▶ exit 0
 *   any ──channel to the supervisor closes──▶ exit when the turn ends (a commit under way is finished or rolled back)
 *
 * SIGINT and SIGTERM reach the whole process group on Ctrl-C. The supervisor decides what happens, so both are ignored
 * while its channel is open.
 */
import {enableCompileCache, flushCompileCache} from 'node:module';
import {performance} from 'node:perf_hooks';
import {Answers} from '../shared/answers.ts';
import {asServiceError, errorEnvelope, ServiceError, unavailable} from '../shared/errors.ts';
import {closeInherited} from '../shared/inherited-descriptors.ts';
import {
  LAST_REPORT_ID,
  type SupervisorToWorker,
  type TenantSettings,
  type WorkerToSupervisor,
} from '../shared/ipc/control.ts';
import {HEARTBEAT_INTERVAL_MS} from '../shared/limits.ts';
import {createLogger} from '../shared/log.ts';
import {mayHoldIsolates, WARM_FUNCTIONS} from '../shared/node-flags.ts';
import type {NodeVersion} from '../shared/node-version.ts';
import {WorkerEgress} from './runtime/egress/worker-egress.ts';
import {become} from './runtime/process/user.ts';
import {Serving} from './serving.ts';
import {warmFunctions, warmUp} from './warm-up.ts';

/** The standard ones, and the channel. */
const DESCRIPTORS = 4;

enableCompileCache();
closeInherited(DESCRIPTORS);
let log = createLogger({process: 'worker'});
let serving: Serving | null = null;
let egress: WorkerEgress | null = null;
const installs = new Answers<{error: string | null}>();
let lagSeconds = 0;
let hasTenant = false;

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(1));
// Either a bug or an untrusted file: the next process starts from disk.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.error('the worker ends after an unexpected error', {error});
    process.exit(1);
  });
}
process.on('message', (message: SupervisorToWorker) => {
  switch (message.type) {
    case 'open':
      open(message.settings).catch(error => failed('open_failed', error));
      return;
    case 'errand':
      errand(message).catch(error => failed('errand_failed', error));
      return;
    case 'node_settled':
      installs.settle(message.id, message);
      return;
    case 'egress_taken':
      egress?.taken(message);
      return;
    case 'metrics':
      send({
        type: 'metrics',
        id: message.id,
        report: serving?.tenant.metricsText(lagSeconds) ?? '[]',
        functions: serving?.tenant.functionsText() ?? '[]',
      });
      return;
    case 'copies_flush':
      void flushCopies(message.id);
      return;
    case 'file_hold':
      send({type: 'file_held', id: message.id, logBytes: holdFile()});
      return;
    case 'file_release':
      void releaseFile(message.id);
      return;
    case 'close':
      close().catch(error => {
        log.error('closing failed', {error});
        process.exit(1);
      });
      return;
  }
});

beat();
const [warmUpDirectory, functions] = process.argv.slice(2);
/** A tenant that is assigned meanwhile is opened after the warm-up. */
const warmedUp = warmUpDirectory === undefined ? null : warmUp(warmUpDirectory, log);
await warmedUp;
if (functions === WARM_FUNCTIONS) await warmFunctions(log);
// Without a tenant, everything compiled so far is svc's own code, so other processes can trust the cache. A worker with a
// tenant never writes files that other processes read.
if (!hasTenant) flushCompileCache();
send({type: 'spare'});

function send(message: WorkerToSupervisor): void {
  // The callback receives the error of a channel that is closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, () => undefined);
}

/** Heartbeats come from the same loop that serves, so a stuck loop sends none; their lateness is the loop's lag. */
function beat(): void {
  let due = performance.now() + HEARTBEAT_INTERVAL_MS;
  setInterval(() => {
    lagSeconds = Math.max(0, performance.now() - due) / 1000;
    due = performance.now() + HEARTBEAT_INTERVAL_MS;
    send({type: 'heartbeat'});
  }, HEARTBEAT_INTERVAL_MS);
}

/** @throws Error with a reason that people can read */
async function installNode(version: NodeVersion): Promise<void> {
  const settled = await installs.ask(null, id => send({type: 'node_wanted', id, version}));
  if (settled !== null && settled.error !== null) throw new Error(settled.error);
}

async function open(settings: TenantSettings): Promise<void> {
  hasTenant = true;
  log = createLogger({process: 'worker', tenant: settings.tenant});
  await warmedUp;
  const spareIsolates = mayHoldIsolates()
    ? (await import('./runtime/isolate-process/spare-isolates.ts')).spareIsolates
    : null;
  if (!settings.hasCode) spareIsolates?.end();
  else if (settings.user !== null) spareIsolates?.become(settings.user);
  egress = new WorkerEgress(settings.egress, send);
  const onUse = (untilMs: number | null) => send({type: 'in_use', untilMs});
  serving = await Serving.open(settings, log, {egress, onUse, installNode});
  if (serving.tenant.hasCode && !mayHoldIsolates()) {
    await serving.close();
    send({type: 'needs_isolates'});
    process.disconnect?.();
    return;
  }
  if (!serving.tenant.hasCode) spareIsolates?.end();
  send({type: 'opened', egress: serving.tenant.storedEgress});
}

async function errand({settings, errand}: Extract<SupervisorToWorker, {type: 'errand'}>): Promise<void> {
  hasTenant = true;
  log = createLogger({process: 'worker', tenant: settings.tenant});
  if (settings.user !== null) become(settings.user);
  const {runErrand} = await import('./errands/errand.ts');
  const result = JSON.stringify((await runErrand(settings, errand, log)) ?? null);
  send({type: 'errand_done', result});
  process.exit(0);
}

function failed(type: 'open_failed' | 'errand_failed', caught: unknown): void {
  const known = caught instanceof ServiceError;
  const cause = known ? caught.cause : caught;
  const what = type === 'open_failed' ? 'the tenant could not be opened' : 'the errand could not be done';
  if (cause !== undefined) log.error(what, {error: cause});
  const error = known ? asServiceError(caught) : unavailable(`${what}; the log says why`);
  send({type, error: errorEnvelope(error).error});
  process.exitCode = 1;
  process.disconnect?.();
}

/** The supervisor keeps the worker's counters while the tenant sleeps. */
function reportLast(): void {
  if (serving === null) return;
  try {
    send({
      type: 'metrics',
      id: LAST_REPORT_ID,
      report: serving.tenant.metricsText(0),
      functions: serving.tenant.functionsText(),
    });
  } catch (error) {
    log.warn('metrics of this worker could not be reported', {error});
  }
}

async function flushCopies(id: number): Promise<void> {
  await serving?.tenant.copies?.flush();
  send({type: 'copies_flushed', id});
}

function holdFile(): number | null {
  try {
    return serving?.tenant.fileHold.begin() ?? null;
  } catch (error) {
    log.error("the tenant's file could not be held for a clone", {error});
    return null;
  }
}

async function releaseFile(id: number): Promise<void> {
  const isWhole = (await serving?.tenant.fileHold.end()) ?? false;
  send({type: 'file_released', id, isWhole});
}

async function close(): Promise<void> {
  reportLast();
  const closed = (await serving?.close()) ?? {nextDueMs: null, hasCode: false};
  send({type: 'closed', ...closed});
  process.exit(0);
}
