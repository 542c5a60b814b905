/**
 * A worker's requests about the packages of its tenant in the store of the cluster, one after the other. The worker names
 * packages; this process reads the tarball in the tenant's directory, so a worker sends nothing else to the store.
 */
import {unreachable} from '../../shared/assert.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {PACKAGES_LISTED_MAX} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {encodePackageList, type PackageInfo} from '../log/package-list.ts';
import type {NotStored} from '../log/stored-list.ts';
import type {LogAnswer, PackageOutcome} from './endpoint-message.ts';
import type {LogRequest} from './log-request.ts';

/** Of one tenant, in the epoch of its worker. Each throws LogError, EngineError. */
export type EndpointPackages = {
  readonly list: (signal: AbortSignal) => Promise<readonly PackageInfo[] | NotStored>;
  readonly put: (wish: {sha512: string; replaces: boolean}, signal: AbortSignal) => Promise<PackageOutcome>;
  readonly drop: (names: ReadonlySet<string>, signal: AbortSignal) => Promise<NotStored | null>;
};

export type PackageRequest = Extract<LogRequest, {does: 'packages' | 'store_package' | 'drop_packages'}>;

const DIGEST_BYTES = 64;

export class PackageEndpoint {
  readonly #packages: EndpointPackages;
  readonly #end = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  constructor(packages: EndpointPackages) {
    this.#packages = packages;
  }

  /** @throws MalformedFrame; LogError, EngineError */
  answer(request: PackageRequest, body: Buffer): Promise<[LogAnswer, Buffer?]> {
    const answered = this.#last.then(() => this.#answered(request, body));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  end(): void {
    this.#end.abort();
  }

  async #answered(request: PackageRequest, body: Buffer): Promise<[LogAnswer, Buffer?]> {
    const {signal} = this.#end;
    if (signal.aborted) throw new EngineError('the tenant is not of this host any more');
    switch (request.does) {
      case 'packages': {
        const found = await this.#packages.list(signal);
        if ('kind' in found) return [{is: 'package', outcome: found.kind}];
        return [{is: 'packages'}, encodePackageList({epoch: 0, packages: found, garbage: []})];
      }
      case 'store_package':
        return [{is: 'package', outcome: await this.#packages.put(request, signal)}];
      case 'drop_packages':
        return [{is: 'package', outcome: (await this.#packages.drop(namesIn(body), signal))?.kind ?? 'stored'}];
      default:
        return unreachable(request);
    }
  }
}

/** @throws MalformedFrame */
function namesIn(body: Buffer): ReadonlySet<string> {
  const count = body.length / DIGEST_BYTES;
  if (!Number.isInteger(count) || count > PACKAGES_LISTED_MAX) throw new MalformedFrame('it drops no packages');
  return new Set(Array.from({length: count}, (_, i) => body.toString('hex', i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES)));
}
