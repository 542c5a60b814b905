/**
 * The copier process: the only one with the credentials of the repository's store. It reads the spools of tenants and
 * writes to the repository.
 *
 *   waiting ──start──▶ copying ──close──▶ a last round ──▶ exit 0        (after the time of `close`: also exit 0)
 *                         └── channel to the supervisor closes ──▶ exit at once: the spools keep what is not stored
 */
import {join} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import {asServiceError, errorEnvelope} from '../../shared/errors.ts';
import {
  type CopierRequest,
  type CopierSettings,
  type CopierToSupervisor,
  STATE_DIRECTORY,
  type SupervisorToCopier,
} from '../../shared/ipc/copier.ts';
import {HEARTBEAT_INTERVAL_MS} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {pointsIn, statusOf} from './answers.ts';
import {Copier} from './copier.ts';
import {Drills} from './drills.ts';
import {HeartbeatUrl} from './heartbeat-url.ts';
import {IdleWork} from './idle-work.ts';
import {openWriter} from './open-repository.ts';
import {restoreInThread} from './restores.ts';

const log = createLogger({process: 'copier'});
let copier: Copier | null = null;
let drills: Drills | null = null;
let settings: CopierSettings | null = null;

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(0));
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.error('the copier ends after an unexpected error', {error});
    process.exit(1);
  });
}
process.on('message', (message: SupervisorToCopier) => void received(message));
setInterval(() => send({type: 'heartbeat'}), HEARTBEAT_INTERVAL_MS);

async function received(message: SupervisorToCopier): Promise<void> {
  switch (message.type) {
    case 'start':
      await start(message);
      return;
    case 'tenant':
      copier?.tenantIs(message.tenant);
      return;
    case 'base_failed':
      copier?.baseFailed(message.tenant, message.message);
      return;
    case 'state':
      copier?.files.copied(join(settings!.data, STATE_DIRECTORY), message.names);
      return;
    case 'deleted':
      copier?.deleted(message.tenant);
      return;
    case 'request':
      await answer(message.id, message.request);
      return;
    case 'metrics':
      send({type: 'metrics', id: message.id, report: copier?.report() ?? []});
      return;
    case 'close':
      copier?.close();
      setTimeout(() => {
        copier?.logWaiting();
        process.exit(0);
      }, message.withinMs);
      return;
    default:
      unreachable(message);
  }
}

/** Resolves when it was closed. */
async function start(message: SupervisorToCopier & {type: 'start'}): Promise<void> {
  settings = message.settings;
  const {heartbeatUrl} = settings;
  const idleWork = new IdleWork(settings.data, settings.keep, log, Date.now);
  const started: Copier = new Copier({
    settings,
    open: stored => openWriter(message.settings, stored),
    log,
    now: Date.now,
    lastSuccessMs: message.lastSuccessMs,
    opened: (repositoryId, refused, isWriter) => {
      if (refused === null) send({type: 'started', repositoryId, isWriter});
      else send({type: 'refused', refusal: refused.code, message: refused.message, repositoryId});
    },
    baseDue: tenant => send({type: 'base_due', tenant}),
    timelineDue: tenant => send({type: 'timeline_due', tenant}),
    succeeded: () => heartbeat?.succeeded(),
    idle: writer => idleWork.begin(writer),
  });
  const heartbeat =
    heartbeatUrl === null ? null : new HeartbeatUrl(heartbeatUrl, log, () => started.count('heartbeat'));
  for (const tenant of message.tenants) started.tenantIs(tenant);
  copier = started;
  drills = new Drills(settings, () => started.writer?.repository ?? null);
  await started.work();
  process.exit(0);
}

async function answer(id: number, request: CopierRequest): Promise<void> {
  try {
    send({type: 'answer', id, result: await resultOf(request), error: null});
  } catch (caught) {
    const {error} = errorEnvelope(asServiceError(caught));
    if (error.code === 'op.failed') log.error('a request about backups failed', {does: request.does, error: caught});
    send({type: 'answer', id, result: null, error});
  }
}

/** @throws ServiceError */
async function resultOf(request: CopierRequest): Promise<unknown> {
  switch (request.does) {
    case 'status':
      return statusOf(copier!, drills!, settings!, request, Date.now());
    case 'run':
      return copier!.run(request.withinMs);
    case 'points':
      return pointsIn(copier!, drills!, request, Date.now());
    case 'restore': {
      const {repository, keyFile} = settings!;
      const {tenant, target, path, packages, withinMs} = request;
      return restoreInThread({repository, keyFile, tenant, target, path, packages, withinMs});
    }
    case 'drill_tenants':
      return drills!.tenants();
    case 'drill_restore':
      return drills!.restore(request.tenant, request.path, request.withinMs);
    case 'drill_record':
      return drills!.record(request.drilled);
    default:
      return unreachable(request);
  }
}

function send(message: CopierToSupervisor): void {
  // The callback receives the error if the channel is closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, () => undefined);
}
