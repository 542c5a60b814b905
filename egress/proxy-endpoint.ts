/**
 * The proxy endpoint ("door") of one worker: its threads and processes request connections here, under their tenant's
 * policy. The secret and the path of the socket identify the worker, because no other process gets them.
 */
import {createHash, timingSafeEqual} from 'node:crypto';
import {createServer, type Server, type Socket} from 'node:net';
import {dirname} from 'node:path';
import type {EgressGrant} from '../shared/ipc/egress.ts';
import type {EgressMetrics} from '../shared/metrics/egress-metrics.ts';
import {TokenBucket} from '../shared/token-bucket.ts';
import {
  EGRESS_CONNECTIONS_MAX,
  EGRESS_CONNECTIONS_PER_TENANT_MAX,
  EGRESS_LINKS_PER_TENANT_MAX,
  EGRESS_QUESTIONS_PER_SECOND_MAX,
} from './limits.ts';
import {Link} from './link.ts';
import type {LookupQueue} from './lookup-queue.ts';
import {EgressPolicy, type Resolve} from './policy.ts';
import {TenantNames} from './tenant-names.ts';

const QUESTIONS = {requests_per_second: EGRESS_QUESTIONS_PER_SECOND_MAX, burst: EGRESS_QUESTIONS_PER_SECOND_MAX};

export type EndpointParts = {
  metrics: EgressMetrics;
  /** Shared by all tenants. */
  lookups: LookupQueue;
  resolve: Resolve;
  /** Called at the first failure to open a door. */
  failed?: (grant: EgressGrant, error: unknown) => void;
};

export class ProxyEndpoint {
  readonly parts: EndpointParts;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  readonly #names: TenantNames;
  readonly #secret: Buffer;
  #grant: EgressGrant;
  #policy: EgressPolicy;
  #connections = 0;
  readonly #questions = new TokenBucket(QUESTIONS, performance.now());

  private constructor(grant: EgressGrant, parts: EndpointParts) {
    this.parts = parts;
    this.#grant = grant;
    this.#secret = digest(grant.secret);
    this.#names = new TenantNames(grant.tenant, parts.lookups, parts.resolve);
    this.#policy = this.#policyOf(grant);
    this.#server = createServer(socket => this.#entered(socket));
    this.#server.maxConnections = EGRESS_LINKS_PER_TENANT_MAX;
  }

  static async open(grant: EgressGrant, parts: EndpointParts): Promise<ProxyEndpoint> {
    const endpoint = new ProxyEndpoint(grant, parts);
    await new Promise<void>((resolve, reject) => {
      endpoint.#server.once('error', reject);
      endpoint.#server.listen({path: grant.socketPath, writableAll: true, readableAll: true}, resolve);
    });
    return endpoint;
  }

  /** Where paths for data connections are created. Users of other tenants cannot traverse it. */
  get directory(): string {
    return dirname(this.#grant.socketPath);
  }

  get policy(): EgressPolicy {
    return this.#policy;
  }

  /** Ends all open connections if the policy changed, because the new one may not allow them. */
  use(grant: EgressGrant): void {
    if (JSON.stringify(grant.policy) === JSON.stringify(this.#grant.policy)) return;
    this.#grant = grant;
    this.#policy = this.#policyOf(grant);
    for (const link of this.#links) link.endConnections();
  }

  close(): void {
    this.#server.close();
    for (const link of this.#links) link.end();
  }

  isSecret(said: string): boolean {
    return timingSafeEqual(digest(said), this.#secret);
  }

  /** Reserves a connection, which `closed` releases. @returns why the reservation is refused; null: it succeeded */
  opened(): string | null {
    const {metrics} = this.parts;
    if (this.#connections >= EGRESS_CONNECTIONS_PER_TENANT_MAX)
      return `Too many connections at once (maximum ${EGRESS_CONNECTIONS_PER_TENANT_MAX} of one tenant)`;
    // A tenant can have at most as many as are still free, so tenants that take all they can end up with equal numbers
    // and leave some for the next one.
    if (this.#connections >= EGRESS_CONNECTIONS_MAX - metrics.connections)
      return 'The server has too many outgoing connections; try again';
    this.#connections++;
    metrics.connections++;
    return null;
  }

  closed(): void {
    this.#connections--;
    this.parts.metrics.connections--;
  }

  /** Milliseconds until the next request may be handled; 0: now. */
  questionAfterMs(): number {
    return this.#questions.take(performance.now()) ? 0 : Math.ceil(1000 / EGRESS_QUESTIONS_PER_SECOND_MAX) * 10;
  }

  #policyOf({policy}: EgressGrant): EgressPolicy {
    return EgressPolicy.of(policy, (hostname, signal) => this.#names.addresses(hostname, signal));
  }

  #entered(socket: Socket): void {
    const link: Link = new Link(socket, this, () => this.#links.delete(link));
    this.#links.add(link);
  }
}

/** Digests have equal length for any input, as `timingSafeEqual` requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
