/**
 * The proxy endpoints ("doors") of all workers that serve a tenant, by socket path. Calls for one door take effect in
 * order.
 */
import {readdir, rm} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {EgressGrant} from '../shared/ipc/egress.ts';
import {EgressMetrics} from '../shared/metrics/egress-metrics.ts';
import type {MetricJson} from '../shared/metrics/metric-json.ts';
import {
  EGRESS_ENDPOINT_RETRY_MS,
  EGRESS_LOOKUPS_MAX,
  EGRESS_LOOKUPS_PER_TENANT_MAX,
  EGRESS_LOOKUPS_WAITING_MAX,
} from './limits.ts';
import {LookupQueue} from './lookup-queue.ts';
import {type EndpointParts, ProxyEndpoint} from './proxy-endpoint.ts';
import {systemNames} from './system-names.ts';

type Standing = {
  /** The latest one. */
  grant: EgressGrant;
  /** Null: not open yet. */
  endpoint: ProxyEndpoint | null;
  /** The latest attempt. Never rejects. */
  opening: Promise<void>;
  timer: NodeJS.Timeout | null;
  isFailing: boolean;
};

export class ProxyEndpoints {
  readonly #parts: EndpointParts;
  readonly #endpoints = new Map<string, Standing>();

  constructor(parts: Partial<EndpointParts> = {}) {
    const lookups = new LookupQueue({
      atOnce: EGRESS_LOOKUPS_MAX,
      atOncePerTenant: EGRESS_LOOKUPS_PER_TENANT_MAX,
      waitingPerTenant: EGRESS_LOOKUPS_WAITING_MAX,
    });
    this.#parts = {metrics: new EgressMetrics(), lookups, resolve: parts.resolve ?? systemNames(), ...parts};
    this.#parts.metrics.measure('svc_egress_doors', () => this.#endpoints.size);
  }

  /**
   * Resolves when the worker can reach its door and this policy applies. A door that cannot be opened affects only its
   * own worker: opening it is retried until it succeeds or the grant is revoked.
   */
  async grant(grant: EgressGrant): Promise<void> {
    const known = this.#endpoints.get(grant.socketPath);
    if (known === undefined) {
      const standing: Standing = {grant, endpoint: null, opening: Promise.resolve(), timer: null, isFailing: false};
      this.#endpoints.set(grant.socketPath, standing);
      this.#open(standing);
      await standing.opening;
      return;
    }
    known.grant = grant;
    await known.opening;
    known.endpoint?.use(grant);
  }

  async revoke(socketPath: string): Promise<void> {
    const standing = this.#endpoints.get(socketPath);
    this.#endpoints.delete(socketPath);
    if (standing === undefined) return;
    if (standing.timer !== null) clearTimeout(standing.timer);
    await standing.opening;
    standing.endpoint?.close();
  }

  #open(standing: Standing): void {
    standing.timer = null;
    standing.opening = this.#opened(standing).catch((error: unknown) => {
      const {grant, isFailing} = standing;
      standing.isFailing = true;
      if (!isFailing) this.#parts.failed?.(grant, error);
      if (this.#endpoints.get(grant.socketPath) === standing)
        standing.timer = setTimeout(() => this.#open(standing), EGRESS_ENDPOINT_RETRY_MS);
    });
  }

  async #opened(standing: Standing): Promise<void> {
    // Left by an earlier process: its door, and paths of its data connections.
    const directory = dirname(standing.grant.socketPath);
    for (const name of await readdir(directory)) await rm(join(directory, name), {recursive: true, force: true});
    standing.endpoint = await ProxyEndpoint.open(standing.grant, this.#parts);
    standing.endpoint.use(standing.grant);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#endpoints.keys()].map(path => this.revoke(path)));
  }

  report(): MetricJson[] {
    return this.#parts.metrics.report();
  }
}
