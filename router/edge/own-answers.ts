/** Answers the operations that the router performs itself, most of them with the supervisor's help. */
import type {HttpRequest} from 'uWebSockets.js';
import {unreachable} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {type DashboardOperation, OWN_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {auditRequest} from '../auth/audited.ts';
import {type Credentials, sessionIdOf} from '../auth/credentials.ts';
import {noteRefusal} from '../auth/refusal.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Downloads} from '../dashboard/downloads.ts';
import {DASHBOARD_API_HEADERS} from '../dashboard/pages.ts';
import {answerSessions, type SessionOperation, signInPrincipal} from '../dashboard/sessions.ts';
import type {Surfaces} from '../dashboard/surfaces.ts';
import type {Exchange} from '../http/exchange.ts';
import type {ShippedFiles} from '../http/shipped-files.ts';
import {PROMETHEUS_TEXT} from '../metrics/listener.ts';
import {decodedOrSame, decodeParameter} from '../routes.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import {answerBackups} from './backup-handlers.ts';
import {answerCluster} from './cluster-handlers.ts';
import {showFigures} from './figures-handlers.ts';
import {beginFile, cloneTenant, takeFile} from './file-handlers.ts';
import type {Health} from './health.ts';
import {answerKeys, whoAmI} from './key-handlers.ts';
import {refuseEncoding, type Steps, shippedRequest} from './steps.ts';
import {controlTenant, createTenant, deleteTenant, listTenants, showOverview, showTenant} from './tenant-handlers.ts';
import {answerUpgrade} from './upgrade-handlers.ts';

export type OwnParts = {
  credentials: Credentials;
  directory: TenantDirectory;
  control: ControlChannel;
  surfaces: Surfaces;
  downloads: Downloads;
  /** Of the API document. */
  files: ShippedFiles;
  health: Health;
};

export class OwnAnswers {
  readonly #parts: OwnParts;
  readonly #steps: Steps;
  readonly #tenant: (exchange: Exchange, segment: string) => unknown;

  /** @param tenant checks the tenant that a segment of the path names */
  constructor(parts: OwnParts, steps: Steps, tenant: (exchange: Exchange, segment: string) => unknown) {
    this.#parts = parts;
    this.#steps = steps;
    this.#tenant = tenant;
  }

  /** @param parameters of its path, percent-encoded. @throws ServiceError */
  answer(
    exchange: Exchange,
    own: RouterOperation | DashboardOperation,
    parameters: string[],
    query: string,
    req: HttpRequest,
  ): void {
    const {control, directory, downloads, files, health} = this.#parts;
    const {success} = OWN_OPERATIONS[own];
    switch (own) {
      case 'health':
        if (health.fault !== null) throw health.fault;
        exchange.reply(success, '{"ok":true}');
        return;
      case 'metrics':
        this.#steps.later(exchange, async () =>
          exchange.reply(success, await control.metrics(), null, PROMETHEUS_TEXT),
        );
        return;
      case 'openapi':
        files.answer(exchange, 'openapi.json', shippedRequest(req));
        return;
      case 'docs.page':
        files.answer(exchange, 'index.html', shippedRequest(req));
        return;
      case 'docs.file':
        files.answer(exchange, decodeParameter(parameters[0]!), shippedRequest(req));
        return;
      case 'socket':
        throw new ServiceError('op.invalid_input', 'this path takes WebSocket upgrades of the subprotocol svc.v2');
      case 'functions.socket':
        this.#tenant(exchange, parameters[0]!);
        throw new ServiceError(
          'op.invalid_input',
          `this path takes WebSocket upgrades of the subprotocol ${FUNCTION_PROTOCOL}`,
        );
      case 'tenants.list':
        listTenants(directory, exchange);
        return;
      case 'tenants.create':
        this.#steps.readBody(exchange, req, () => this.#steps.later(exchange, () => createTenant(control, exchange)));
        return;
      case 'tenants.delete':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => deleteTenant(control, exchange));
        return;
      case 'tenants.overview':
        this.#steps.later(exchange, () => showOverview(control, exchange, query));
        return;
      case 'tenants.status':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => showTenant(control, exchange));
        return;
      case 'figures.tenant':
      case 'figures.functions':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => showFigures(control, exchange, own, query));
        return;
      case 'figures.server':
        this.#steps.later(exchange, () => showFigures(control, exchange, own, query));
        return;
      case 'backup.points':
      case 'tenants.restore':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => answerBackups(control, exchange, own, query));
        return;
      case 'backup.status':
      case 'backup.run':
      case 'backup.drill':
        this.#steps.later(exchange, () => answerBackups(control, exchange, own, query));
        return;
      case 'cluster.status':
      case 'cluster.members':
        this.#steps.later(exchange, () => answerCluster(control, exchange, own, query));
        return;
      case 'cluster.move':
      case 'cluster.pin':
      case 'cluster.drain':
        this.#steps.readBody(exchange, req, () =>
          this.#steps.later(exchange, () => answerCluster(control, exchange, own, query)),
        );
        return;
      case 'upgrade.status':
      case 'upgrade.start':
        this.#steps.later(exchange, () => answerUpgrade(control, exchange, own));
        return;
      case 'server.status':
        this.#steps.later(exchange, async () =>
          exchange.reply(success, JSON.stringify(await control.status({action: 'server_status'}))),
        );
        return;
      case 'tenants.wake':
      case 'tenants.sleep':
      case 'tenants.pause':
      case 'tenants.resume':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => controlTenant(control, exchange, own, query));
        return;
      case 'tenants.clone':
        this.#tenant(exchange, parameters[0]!);
        this.#steps.later(exchange, () => cloneTenant(control, exchange, query));
        return;
      case 'tenants.import': {
        refuseEncoding(req);
        const adoption = beginFile(exchange, decodedOrSame(parameters[0]!), query);
        this.#steps.later(exchange, () => takeFile(control, exchange, adoption));
        return;
      }
      case 'audit.page':
      case 'audit.refusals': {
        const request = auditRequest(own === 'audit.page' ? 'actions' : 'refusals', query);
        this.#steps.later(exchange, async () => exchange.reply(success, await control.audit(request)));
        return;
      }
      case 'whoami':
        whoAmI(exchange);
        return;
      case 'keys.list':
      case 'keys.get':
      case 'keys.revoke':
        this.#steps.later(exchange, () => answerKeys(control, exchange, own, decodedOrSame(parameters[0] ?? '')));
        return;
      case 'keys.create':
      case 'keys.rotate': {
        const id = decodedOrSame(parameters[0] ?? '');
        this.#steps.readBody(exchange, req, () =>
          this.#steps.later(exchange, () => answerKeys(control, exchange, own, id)),
        );
        return;
      }
      case 'dashboard.download':
        this.#steps.readBody(exchange, req, () =>
          this.#steps.later(exchange, async () => {
            const made = downloads.make(sessionIdOf(exchange.principal)!, exchange.body);
            exchange.reply(success, JSON.stringify(made));
          }),
        );
        return;
      case 'dashboard.sign_in':
      case 'dashboard.session':
      case 'dashboard.sign_out':
      case 'dashboard.code':
      case 'dashboard.sessions':
      case 'dashboard.end':
      case 'dashboard.end_all':
        this.#answerSessions(exchange, own, decodedOrSame(parameters[0] ?? ''), req);
        return;
      default:
        unreachable(own);
    }
  }

  #answerSessions(exchange: Exchange, own: SessionOperation, session: string, req: HttpRequest): void {
    const {control, credentials, surfaces} = this.#parts;
    const host = req.getHeader('host');
    const origin = exchange.edgeHeaders === DASHBOARD_API_HEADERS ? surfaces.originOf(host) : surfaces.originFrom(host);
    const call = {origin, browser: req.getHeader('user-agent'), session};
    const answer = () => answerSessions(control, exchange, own, call);
    if (own !== 'dashboard.sign_in') {
      this.#steps.later(exchange, answer);
      return;
    }
    void exchange.address; // cannot be determined after the client has disconnected
    const signIn = async () => {
      exchange.principal = await signInPrincipal(credentials, control, exchange.body);
      await this.#steps.recorded(exchange, answer);
    };
    const refuse = (caught: unknown) => {
      const isWrong = caught instanceof ServiceError && caught.code === 'auth.unauthorized' && exchange.audited === 0;
      if (isWrong) noteRefusal(exchange, caught.code, {shown: 'other'});
      if (isWrong) this.#steps.refuseWrong(exchange, caught.message);
      else throw caught;
    };
    const failed = (caught: unknown) => this.#steps.fail(exchange, caught);
    this.#steps.readBody(exchange, req, () => void signIn().catch(refuse).catch(failed));
  }
}
