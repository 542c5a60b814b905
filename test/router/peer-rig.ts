/** Routers of several hosts in one process: real TLS between them, scripted supervisors and workers behind them. */
import {onTestFinished} from 'vitest';
import {PeerHosts} from '../../router/peers/peer-hosts.ts';
import {PeerPort} from '../../router/peers/peer-port.ts';
import {TenantDirectory} from '../../router/tenants/directory.ts';
import type {PlacedTenant} from '../../router/tenants/placed-tenant.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {PeerSettings, RemoteAddress, RouterToSupervisor, WorkerAddress} from '../../shared/ipc/control.ts';
import {createLogger} from '../../shared/log.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {Authority, type Pair} from '../cluster/harness/certificates.ts';
import {ScriptedWorker} from './scripted-worker.ts';

export const TENANT = 'acme';
export const moves = new ServiceError('session.worker_unavailable', 'the tenant moves');
const log = createLogger({}, {write: () => undefined});
type Wake = Extract<RouterToSupervisor, {type: 'wake'}>;

export class TestHost {
  readonly name: string;
  readonly directory: TenantDirectory;
  readonly metrics = new RouterMetrics();
  readonly sent: RouterToSupervisor[] = [];
  readonly hosts: PeerHosts;
  readonly settings: PeerSettings;
  #port: PeerPort | null = null;
  /** What the supervisor does when the router requests a worker. */
  onWake: (wake: Wake) => void = () => undefined;

  constructor(name: string, authority: Authority, pair: Pair = authority.issue(name, [name])) {
    this.name = name;
    this.settings = {host: name, listen: {host: '127.0.0.1', port: 0}, ca: authority.certificate, ...pair};
    const send = (message: RouterToSupervisor) => {
      this.sent.push(message);
      if (message.type === 'wake') this.onWake(message);
    };
    const state = {tenants: [TENANT], returning: [], suspects: []};
    this.directory = new TenantDirectory(state, 1, send, log, this.metrics, true);
    this.hosts = new PeerHosts({
      ...{settings: this.settings, log, metrics: this.metrics},
      giveUp: (tenant, worker, why) => this.directory.peerGivesUp(tenant, worker, why),
      suspects: state => this.directory.peerSuspects(state),
    });
    this.directory.joinHosts(this.hosts);
  }

  async listen(): Promise<this> {
    this.#port = await PeerPort.listen({
      ...{settings: this.settings, log, metrics: this.metrics},
      arrived: link => this.directory.peerArrived(link.tenant, link),
      closed: link => this.directory.peerClosed(link.tenant, link),
      reported: (router, report) => this.directory.peerReported(router, report),
    });
    onTestFinished(() => this.#port!.stopAccepting());
    return this;
  }

  /** Its router stops. Resolves when no router of another host has a link. */
  drain(): Promise<void> {
    return new Promise(resolve => this.#port!.drain(moves, resolve));
  }

  get port(): number {
    return this.#port!.port;
  }

  get tenant(): PlacedTenant {
    return this.directory.find(TENANT)!;
  }

  get wakes(): Wake[] {
    return this.sent.filter(message => message.type === 'wake');
  }

  /** Its value now, or that of one of its series. */
  metric(name: string, label?: string): number {
    const {values} = this.metrics.report().find(metric => metric.name === name)!;
    const series = values.filter(({labels}) => label === undefined || Object.values(labels).includes(label));
    return series.reduce((sum, {value}) => sum + value, 0);
  }

  ready(address: WorkerAddress): void {
    this.directory.receive({type: 'worker_ready', address});
  }

  giveUp(): void {
    this.directory.receive({type: 'give_up', tenant: TENANT, error: {code: moves.code, message: moves.message}});
  }

  /** Its supervisor refers routers to this host. */
  refersTo(host: TestHost, more: Partial<RemoteAddress> = {}): void {
    const address = {tenant: TENANT, worker: `${host.name}-1`, host: host.name, address: `127.0.0.1:${host.port}`};
    this.onWake = () => this.directory.receive({type: 'served_elsewhere', address: {...address, ...more}});
  }

  /** Its supervisor starts this worker for whichever router needs one. */
  async serves(runsCode = true): Promise<ScriptedWorker> {
    const worker = new ScriptedWorker(TENANT, runsCode);
    onTestFinished(() => worker.die());
    await worker.listen();
    this.onWake = () => this.ready(worker.address);
    return worker;
  }
}

/** Two hosts of a cluster; the first one's routers are referred to the second one. */
export async function twoHosts(): Promise<{a: TestHost; b: TestHost; authority: Authority}> {
  const authority = new Authority('cluster');
  const [a, b] = [new TestHost('a', authority), await new TestHost('b', authority).listen()];
  a.refersTo(b);
  return {a, b, authority};
}
