/** The doors of an egress process, within the test: with the policies it names, and names that lead where it says. */
import {randomBytes} from 'node:crypto';
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Resolve} from '../../egress/policy.ts';
import {ProxyEndpoints} from '../../egress/proxy-endpoints.ts';
import type {EgressEndpoint, EgressSettings} from '../../shared/ipc/egress.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Egress} from '../../worker/runtime/egress/connector.ts';

export class TestEgress {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-egress-'));
  readonly #endpoints: ProxyEndpoints;
  readonly #used: Egress[] = [];
  #lastEndpoint = 0;

  constructor(resolve?: Resolve) {
    this.#endpoints = new ProxyEndpoints({...(resolve && {resolve})});
  }

  /** A door that is there, or about to be. @param below a directory that there may not be */
  endpoint(policy: EgressSettings, below = ''): EgressEndpoint {
    const directory = join(this.directory, below, `x${++this.#lastEndpoint}`);
    if (below === '') mkdirSync(directory, {recursive: true});
    const socketPath = join(directory, 's');
    const endpoint = {socketPath, secret: randomBytes(8).toString('hex'), policy};
    void this.use(endpoint);
    return endpoint;
  }

  /** The policy of a door is this one now. */
  async use(endpoint: EgressEndpoint): Promise<void> {
    await this.#endpoints.grant({...endpoint, tenant: `of ${endpoint.socketPath}`});
  }

  /** A way out under this policy. */
  under(policy: EgressSettings): Egress {
    const egress = new Egress(this.endpoint(policy));
    this.#used.push(egress);
    return egress;
  }

  async revoke(endpoint: EgressEndpoint): Promise<void> {
    await this.#endpoints.revoke(endpoint.socketPath);
  }

  report(): MetricJson[] {
    return this.#endpoints.report();
  }

  async close(): Promise<void> {
    await Promise.all(this.#used.map(egress => egress.close()));
    await this.#endpoints.close();
    rmSync(this.directory, {recursive: true});
  }
}
