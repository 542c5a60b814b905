/**
 * Loads service control on demand, because most tenants have no service, sandbox or session. Records that a crashed
 * process left `running` are set to failed before any request is answered. A tenant with services loads it when the
 * tenant is opened, because services start by themselves.
 */

import type {Commit, Stage} from '../../engine/commit/commit.ts';
import {readOnlyTenant, tenantClosing} from '../../shared/errors.ts';
import type {Control} from './control.ts';
import type {ControlParts} from './control-parts.ts';
import {CONTROL_WARM_RETRY_MS, CONTROL_WARM_RETRY_MS_MAX} from './limits.ts';
import {hasServices} from './record-table.ts';

export class ControlGate implements Stage {
  readonly #parts: Omit<ControlParts, 'changed'>;
  readonly #onUse: (untilMs: number | null) => void;
  #loading: Promise<Control> | null = null;
  #control: Control | null = null;
  /** Whether it is loaded. */
  readonly dependents = {size: 0};
  readonly isOfEvents = true;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: Omit<ControlParts, 'changed'>, onUse: (untilMs: number | null) => void) {
    this.#parts = parts;
    this.#onUse = onUse;
    const {metrics} = parts;
    metrics.measure('svc_sandboxes_running', () => this.#control?.sandboxes.running ?? 0);
    metrics.measure('svc_sandbox_bytes', () => this.#control?.sandboxes.bytes ?? 0);
    metrics.measure('svc_sessions_open', () => this.#control?.sessions.open ?? 0);
    metrics.measure('svc_services', () => this.#control?.services.states ?? []);
    metrics.measure('svc_service_bytes', () => this.#control?.services.bytes ?? 0);
  }

  /** @throws session.worker_unavailable 503 while the tenant is being closed; session.tenant_read_only 409 */
  loaded(): Promise<Control> {
    if (this.#isClosed) throw tenantClosing();
    // Loading it starts services, and stores which sandboxes a crash ended.
    if (this.#parts.groups.isPaused) throw readOnlyTenant();
    if (this.#control !== null) return Promise.resolve(this.#control);
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null; // The next request retries a failed load.
    });
    return this.#loading;
  }

  /** Loads it if this tenant has services, which nothing else would start. */
  warm(): void {
    if (hasServices(this.#parts.db)) this.#warm(CONTROL_WARM_RETRY_MS);
  }

  #warm(retryMs: number): void {
    this.loaded().catch(error => {
      if (this.#isClosed) return;
      this.#parts.log.error('service control could not be loaded', {error, retry_ms: retryMs});
      const again = () => this.#warm(Math.min(retryMs * 2, CONTROL_WARM_RETRY_MS_MAX));
      this.#retry = setTimeout(again, retryMs).unref();
    });
  }

  /** Whether a tenant that is closed now has to be opened again, for its services. */
  get wantsToGoOn(): boolean {
    return this.#control?.services.areWanted === true;
  }

  /** Service control that is loaded later starts from the stored state. */
  committed(commit: Commit): void {
    this.#control?.committed(commit);
  }

  /** No load starts afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#loading?.catch(() => undefined); // The request that needed it reports the error.
    await this.#control?.close();
  }

  async #load(): Promise<Control> {
    const {Control} = await import('./control.ts');
    this.#control = new Control(this.#parts, this.#onUse);
    this.dependents.size = 1;
    return this.#control;
  }
}
