/** The packages of the worker's tenant in the store of the cluster: the cluster process stores and removes what is named here. */
import type {EndpointClient} from '../../cluster/endpoint/endpoint-client.ts';
import type {LogAnswer, PackageOutcome} from '../../cluster/endpoint/endpoint-message.ts';
import type {LogRequest} from '../../cluster/endpoint/log-request.ts';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import {decodePackageList, type PackageInfo} from '../../cluster/log/package-list.ts';
import type {Packages} from '../../cluster/log/packages.ts';
import type {TenantName} from '../../cluster/log/subjects.ts';
import {storageDamaged} from '../../engine/storage/damage.ts';
import {unreachable} from '../../shared/assert.ts';
import {conflict, rateLimited, ServiceError, unavailable} from '../../shared/errors.ts';
import type {ClusterPackages} from '../runtime/node/cluster-packages.ts';

export class TenantPackages implements ClusterPackages {
  readonly #endpoint: Pick<EndpointClient, 'askAny'>;
  readonly #packages: Pick<Packages, 'read'>;
  readonly #tenant: TenantName;
  #listed: readonly PackageInfo[] = [];
  /** One request at a time: the process that answers closes a connection with many. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(endpoint: Pick<EndpointClient, 'askAny'>, packages: Pick<Packages, 'read'>, tenant: TenantName) {
    this.#endpoint = endpoint;
    this.#packages = packages;
    this.#tenant = tenant;
  }

  async list(): Promise<ReadonlySet<string>> {
    const {answer, body} = await this.#ask({does: 'packages'});
    if (answer.is === 'package') check(answer.outcome);
    const {packages} = await asServed(async () => decodePackageList(body));
    this.#listed = packages;
    return new Set(packages.map(({sha512}) => sha512));
  }

  async *read(sha512: string): AsyncGenerator<Buffer> {
    const info = this.#listed.find(found => found.sha512 === sha512);
    if (info === undefined) throw unavailable('the package was removed meanwhile; try again');
    const chunks = this.#packages.read(this.#tenant, info);
    for (;;) {
      const {value, done} = await asServed(() => chunks.next(), `the external package ${sha512.slice(0, 16)}…`);
      if (done === true) return;
      yield value;
    }
  }

  async store(sha512: string, replaces: boolean): Promise<void> {
    const {answer} = await this.#ask({does: 'store_package', sha512, replaces});
    if (answer.is === 'package') check(answer.outcome);
  }

  async drop(all: readonly string[]): Promise<void> {
    const names = Buffer.concat(all.map(sha512 => Buffer.from(sha512, 'hex')));
    const {answer} = await this.#ask({does: 'drop_packages'}, names);
    if (answer.is === 'package') check(answer.outcome);
  }

  #ask(request: LogRequest, body?: Buffer): Promise<{answer: LogAnswer; body: Buffer}> {
    const answered = this.#last.then(() => asServed(() => this.#endpoint.askAny(request, body)));
    this.#last = answered.catch(() => undefined);
    return answered;
  }
}

/** @throws ServiceError */
function check(outcome: PackageOutcome): void {
  switch (outcome) {
    case 'stored':
      return;
    case 'full':
      throw new ServiceError('session.storage_full', "the cluster's store is full: free space in it and try again");
    case 'too_many':
      throw rateLimited('the tenant has too many packages in the store of its cluster; deploys remove unused ones');
    case 'other':
    case 'missing':
      throw conflict('the tarball of an external package is not here any more: deploy the code again, which sends it');
    case 'superseded':
      throw unavailable('another host has the tenant by now; try again');
    case 'abandoned':
      throw unavailable('the store of the cluster did not answer in time; try again');
    default:
      unreachable(outcome);
  }
}

/** @throws ServiceError */
async function asServed<T>(act: () => Promise<T>, what = 'the list of external packages'): Promise<T> {
  try {
    return await act();
  } catch (caught) {
    if (caught instanceof LogError)
      throw storageDamaged({check: 'code', stored: `${what} in the store of the cluster`});
    if (caught instanceof EngineError) throw unavailable(`the store of the cluster does not answer: ${caught.message}`);
    throw caught;
  }
}
