/**
 * The cluster process, one per host with `--cluster`: the only one with the credentials of the log. It knows the other
 * hosts, decides with them which host serves a tenant, and appends for the workers of this host.
 *
 *   waiting ──start──▶ starting ──▶ member of the cluster ──close──▶ left ──▶ exit 0
 *                         ├ refused, the first of this host: the supervisor ends it
 *                         └ refused, a later one: it tries again
 *   any ──channel to the supervisor closes──▶ exit at once: the workers end as well
 */
import {unreachable} from '../../shared/assert.ts';
import {backOffMs} from '../../shared/back-off.ts';
import {asServiceError, errorEnvelope, ServiceError} from '../../shared/errors.ts';
import type {ClusterToSupervisor, SupervisorToCluster} from '../../shared/ipc/cluster.ts';
import {HEARTBEAT_INTERVAL_MS} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {NATS_REFUSED_MS, NATS_REFUSED_MS_MAX} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {delay, REAL_TIMING} from '../log/timing.ts';
import {NatsRefusal} from '../nats/nats-refusal.ts';
import {answerOf} from './answers.ts';
import {ClusterHost} from './cluster-host.ts';

const log = createLogger({process: 'cluster'});
let host: ClusterHost | null = null;

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(1));
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.error('the cluster process ends after an unexpected error', {error});
    process.exit(1);
  });
}
process.on('message', (message: SupervisorToCluster) => void received(message));
setInterval(() => send({type: 'heartbeat'}), HEARTBEAT_INTERVAL_MS);

async function received(message: SupervisorToCluster): Promise<void> {
  switch (message.type) {
    case 'start':
      await start(message);
      return;
    case 'locate':
      await locate(message);
      return;
    case 'tenant_known':
      known(message);
      return;
    case 'worker':
      host?.worker(message.tenant, message.epoch, message.endpoint);
      return;
    case 'worker_ended':
      host?.workerEnded(message.tenant, message.epoch);
      return;
    case 'copies':
      host?.spools.set(message.isOn, host.tenants.entries());
      return;
    case 'request':
      await answer(message);
      return;
    case 'metrics':
      send({type: 'metrics', id: message.id, report: host?.metrics.report() ?? []});
      return;
    case 'close':
      await host?.close();
      process.exit(0);
      return;
    default:
      unreachable(message);
  }
}

function known({
  tenant: id,
  generation,
  createdMs,
  path,
  epoch,
}: Extract<SupervisorToCluster, {type: 'tenant_known'}>): void {
  host?.known({id, generation, createdMs}, path, epoch);
}

type Start = Extract<SupervisorToCluster, {type: 'start'}>;

async function start(message: Start): Promise<void> {
  host = await admitted(message);
  await host?.live(message.previousStart);
}

/** The first process of a host is refused for good. A later one waits for NATS, which had nothing against the first. */
async function admitted(message: Start): Promise<ClusterHost | null> {
  let reason = '';
  for (let refusals = 0; ; refusals++) {
    try {
      return await ClusterHost.start(message, send, log);
    } catch (error) {
      if (!(error instanceof NatsRefusal)) throw error;
      if (message.previousStart !== message.start) {
        send({type: 'refused', message: error.message});
        return null;
      }
      if (error.message !== reason) log.error('this host waits until it can join again', {reason: error.message});
      reason = error.message;
      await delay(REAL_TIMING, backOffMs(NATS_REFUSED_MS, NATS_REFUSED_MS_MAX, refusals));
    }
  }
}

async function locate({id, tenant, isForwarded}: Extract<SupervisorToCluster, {type: 'locate'}>): Promise<void> {
  if (host === null) {
    const error = {code: 'session.worker_unavailable', message: 'this host joins the cluster; try again'} as const;
    send({type: 'located', id, location: {kind: 'nowhere', error, isTemporary: true}});
  } else send({type: 'located', id, location: await host.locate(tenant, isForwarded)});
}

async function answer({id, request}: Extract<SupervisorToCluster, {type: 'request'}>): Promise<void> {
  try {
    if (host === null) throw new ServiceError('session.worker_unavailable', 'this host joins the cluster; try again');
    send({type: 'answer', id, result: await answerOf(host, request), error: null});
  } catch (caught) {
    const error =
      caught instanceof EngineError
        ? new ServiceError('session.worker_unavailable', 'the log of the cluster does not answer; try again')
        : asServiceError(caught);
    const envelope = errorEnvelope(error).error;
    if (envelope.code === 'op.failed') log.error('a request failed', {does: request.does, error: caught});
    send({type: 'answer', id, result: null, error: envelope});
  }
}

function send(message: ClusterToSupervisor): void {
  // The callback receives the error if the channel is closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, () => undefined);
}
