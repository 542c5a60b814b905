/** An open tenant and the socket on which routers reach it: the state of a worker that is no longer a spare. */

import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {adoptFile, isToAdopt, removeAdoptNote} from '../engine/adopt/adopt-file.ts';
import {Reserve} from '../engine/storage/reserve.ts';
import type {TenantSettings} from '../shared/ipc/control.ts';
import type {Logger} from '../shared/log.ts';
import {FILE_COPY} from '../shared/tenant-directory.ts';
import {LeasedEvents} from './ipc/leased-events.ts';
import {LinkShare} from './ipc/link-share.ts';
import {type LinkEvents, RouterLink} from './ipc/router-link.ts';
import {WorkerSocket} from './ipc/worker-socket.ts';
import {become} from './runtime/process/user.ts';
import {Tenant, type Upwards} from './tenant.ts';

export class Serving {
  readonly tenant: Tenant;
  readonly #links = new Set<RouterLink>();
  readonly #socket: WorkerSocket;

  /** Resolves when routers can connect. */
  static async open(settings: TenantSettings, log: Logger, upwards: Upwards): Promise<Serving> {
    const reserve = new Reserve(settings.reservePath);
    try {
      if (settings.user !== null) become(settings.user);
      rmSync(join(settings.directory, FILE_COPY), {force: true});
      const isAdopted = isToAdopt(settings.directory);
      if (isAdopted) await adoptFile(settings.directory, 'structure');
      const serving = new Serving(await Tenant.open(settings, reserve, log, upwards), settings, log);
      if (isAdopted) removeAdoptNote(settings.directory);
      await serving.#socket.listen();
      return serving;
    } finally {
      reserve.close();
    }
  }

  private constructor(tenant: Tenant, {routers, secret, socketPath, user}: TenantSettings, log: Logger) {
    this.tenant = tenant;
    const share = new LinkShare(routers, tenant.caches);
    const direct: LinkEvents = {
      onRequest: tenant.dispatch.handle.bind(tenant.dispatch),
      onSubscribe: tenant.dispatch.subscribe.bind(tenant.dispatch),
      onUnsubscribe: (link: RouterLink, stream: number) => tenant.live.unsubscribe(link, stream),
      onFence: (link: RouterLink, stream: number) => link.fenced(stream),
      onAnswered: tenant.dispatch.tenant.functions.answeredByRouter,
      onClose: (link: RouterLink) => {
        this.#links.delete(link);
        tenant.live.release(link);
        tenant.sockets.released(link);
      },
      sockets: tenant.sockets,
    };
    const events = tenant.lease === null ? direct : new LeasedEvents(direct, tenant.lease);
    this.#socket = new WorkerSocket(
      socketPath,
      user !== null,
      socket => this.#links.add(new RouterLink(socket, secret, share, events, log)),
      log,
    );
  }

  /** Finishes work under way and closes the file. `nextDueMs`: when the tenant has work again. */
  async close(): ReturnType<Tenant['close']> {
    this.#socket.close();
    const closed = await this.tenant.close();
    for (const link of this.#links) link.end();
    return closed;
  }
}
