/**
 * The router's end of the channel to the supervisor: sends typed messages and matches requests with their replies. This
 * file does not handle a broken channel: the process exits when the channel closes (see main.ts).
 */
import {ServiceError} from '../shared/errors.ts';
import type {AuditedAction, AuditRequest} from '../shared/ipc/audit.ts';
import type {BackupRequest} from '../shared/ipc/backups.ts';
import type {ClusterRequest} from '../shared/ipc/cluster-requests.ts';
import type {RouterToSupervisor, SupervisorToRouter} from '../shared/ipc/control.ts';
import type {CloneRequest, FileRequest} from '../shared/ipc/files.ts';
import type {Actor, KeyRequest} from '../shared/ipc/keys.ts';
import type {StatusRequest} from '../shared/ipc/overview.ts';
import type {Holder, SessionRequest} from '../shared/ipc/sessions.ts';
import type {UpgradeRequest} from '../shared/ipc/upgrades.ts';
import type {DashboardSessionList} from '../shared/protocol/dashboard.ts';

type Pending = {resolve: (result: unknown) => void; reject: (error: ServiceError) => void};
type Reply = Extract<SupervisorToRouter, {type: 'reply' | 'reply_error'}>;

export class ControlChannel {
  readonly #send: (message: RouterToSupervisor) => void;
  readonly #pending = new Map<number, Pending>();
  #id = 0;

  constructor(send: (message: RouterToSupervisor) => void) {
    this.#send = send;
  }

  send(message: RouterToSupervisor): void {
    this.#send(message);
  }

  /** @throws the supervisor's ServiceError, e.g. session.tenant_exists 409 or session.tenant_not_found 404 */
  async changeTenant(action: 'tenant_create' | 'tenant_delete', tenant: string): Promise<void> {
    await this.#request(id => ({type: 'request', id, action, tenant}));
  }

  /** @returns the body of the route's answer. @throws the supervisor's ServiceError */
  keys(request: KeyRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns what the action says. @throws the supervisor's ServiceError */
  sessions(request: SessionRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  async sessionsOf(actor: Actor): Promise<DashboardSessionList> {
    return (await this.sessions({action: 'session_list', actor})) as DashboardSessionList;
  }

  /** Uses up the code of a one-time link. @throws auth.unauthorized 401 */
  async takeCode(code: string): Promise<Holder> {
    return ((await this.sessions({action: 'code_take', code})) as {holder: Holder}).holder;
  }

  /**
   * Stores the record of an action before the action begins.
   * @returns its sequence, once it is on disk.
   * @throws the supervisor's ServiceError
   */
  async intent(audited: AuditedAction): Promise<number> {
    return Number(await this.#request(id => ({type: 'request', id, action: 'audit_intent', audited})));
  }

  /** @returns a page of the audit log, as JSON */
  async audit(request: AuditRequest): Promise<string> {
    return String(await this.#request(id => ({type: 'request', id, ...request})));
  }

  /** @returns the body of the route's answer. @throws the supervisor's ServiceError */
  status(request: StatusRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns the body of the route's answer. @throws the supervisor's ServiceError */
  backups(request: BackupRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns the answer that the action says. @throws the supervisor's ServiceError */
  files(request: FileRequest | CloneRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns the body of the route's answer. @throws the supervisor's ServiceError */
  upgrades(request: UpgradeRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns the body of the route's answer. @throws the supervisor's ServiceError */
  cluster(request: ClusterRequest): Promise<unknown> {
    return this.#request(id => ({type: 'request', id, ...request}));
  }

  /** @returns the metrics of the whole service, as Prometheus text */
  async metrics(): Promise<string> {
    return String(await this.#request(id => ({type: 'request', id, action: 'metrics'})));
  }

  /** Every reply belongs to a pending request, because requests wait until the process ends. */
  settle(message: Reply): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.type === 'reply') pending?.resolve(message.result);
    else pending?.reject(new ServiceError(message.error.code, message.error.message, message.error.detail));
  }

  #request(message: (id: number) => RouterToSupervisor): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#id;
      this.#pending.set(id, {resolve, reject});
      this.#send(message(id));
    });
  }
}
