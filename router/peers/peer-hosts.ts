/** The other hosts of the cluster that this router is connected to. */
import {randomUUID} from 'node:crypto';
import type {ServiceError} from '../../shared/errors.ts';
import type {PeerSettings, RemoteAddress, TenantSuspects, WorkerName} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {LinkDial, type LinkOutcome, PeerHost} from './peer-host.ts';

type Parts = {
  settings: PeerSettings;
  log: Logger;
  metrics: RouterMetrics;
  suspects: (state: TenantSuspects) => void;
  /** The other host asks to give the worker up. */
  giveUp: (tenant: string, worker: WorkerName, why: ServiceError) => void;
};

/** Host and port, as another host announces them. */
const ADDRESS =
  /^(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/;

export class PeerHosts {
  readonly #parts: Parts;
  /** Names this process to other hosts: its channel and its links belong together. */
  readonly #router = randomUUID();
  readonly #hosts = new Map<string, PeerHost>();

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.metrics.measure('svc_peer_links', () => [...this.#hosts.values()].reduce((sum, {links}) => sum + links, 0));
  }

  /** @param done called once, later, unless the dial is abandoned */
  dial({tenant, host, address}: RemoteAddress, forCode: boolean, done: (outcome: LinkOutcome) => void): LinkDial {
    const wanted = new LinkDial(tenant, forCode, done);
    if (!ADDRESS.test(address)) {
      this.#parts.log.error('a host has an address that is none', {host, address});
      setImmediate(() => wanted.settle({type: 'lost'}));
      return wanted;
    }
    const name = `${host} ${address}`;
    let peer = this.#hosts.get(name);
    if (peer === undefined) {
      const {settings, log, metrics, giveUp, suspects} = this.#parts;
      const made = new PeerHost({host, address}, this.#router, settings, log, {
        giveUp,
        suspects,
        dialled: outcome => metrics.count('svc_peer_dials_total', {outcome}),
        closed: () => {
          if (this.#hosts.get(name) === made) this.#hosts.delete(name);
        },
      });
      peer = made;
      this.#hosts.set(name, made);
    }
    peer.link(wanted);
    return wanted;
  }
}
