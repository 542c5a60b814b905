/**
 * The function platform's interface for services and Node sandboxes: code on disk, variables, policy, function calls
 * and live queries. A service is the tenant's own code, so it can call internal functions, and its calls have no
 * identity.
 */

import {createHash} from 'node:crypto';
import {invalid, ServiceError} from '../../shared/errors.ts';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import {NODE_VERSION_DEFAULT, type NodeVersion} from '../../shared/node-version.ts';
import type {NodePart} from '../../shared/protocol/functions.ts';
import type {ServiceSource} from '../../shared/protocol/services.ts';
import {ActionLines} from '../runtime/actions/action-lines.ts';
import type {MainOperation} from '../runtime/actions/action-message.ts';
import type {LiveDeployment} from '../runtime/call.ts';
import {nestedError} from '../runtime/call-result.ts';
import type {CodeStore} from '../runtime/code-store.ts';
import {digestOfPart} from '../runtime/node/code-directory.ts';
import type {NodeCode} from '../runtime/node/node-process.ts';
import type {NodeRuntime} from '../runtime/node/node-runtime.ts';
import type {Functions} from './functions.ts';
import {ServiceWatch} from './service-watch.ts';
import type {SubscribedQueries} from './sync/queries/subscribed-queries.ts';

/** Which code to run, in which version of Node. */
export type ServiceCode = {source: ServiceSource; node_version: NodeVersion | null};
/** Code ready for a process. `module`: path of the module whose default export is called. */
export type LaidOut = {code: NodeCode; module: string};

export type ServiceHostParts = {
  functions: Functions;
  subscribedQueries: SubscribedQueries;
  nodes: NodeRuntime;
  code: CodeStore;
  live: () => LiveDeployment | null;
  partOf: (deployment: number) => NodePart | null;
  env: () => Readonly<Record<string, string>>;
  egress: () => EgressEndpoint;
  redactErrors: boolean;
};

const ANONYMOUS = {identity: null};
const INLINE = 'service';

export class ServiceHost {
  readonly #parts: ServiceHostParts;

  constructor(parts: ServiceHostParts) {
    this.#parts = parts;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#parts.env();
  }

  get egress(): EgressEndpoint {
    return this.#parts.egress();
  }

  /** @returns a digest that changes with the code. @throws op.invalid_input 400: the module does not exist now */
  digest(code: ServiceCode): string {
    return digestOfPart(this.#part(code));
  }

  /** Writes the code where a process finds it. @throws op.invalid_input 400 */
  async layOut(wanted: ServiceCode): Promise<LaidOut> {
    const {source} = wanted;
    const part = this.#part(wanted);
    if (source.type === 'inline') {
      return {code: await this.#parts.nodes.serviceCode(part, () => source.code), module: INLINE};
    }
    const {read} = this.#parts.code.sourceOf(this.#parts.live()!.code);
    return {code: await this.#parts.nodes.serviceCode(part, read), module: moduleOf(source.path)};
  }

  /**
   * The code that runs a sandbox with `runtime: "node"`.
   * @throws op.invalid_input 400: this Node version is not available
   */
  sandboxCode(version: NodeVersion): Promise<NodeCode> {
    return this.#parts.nodes.sandboxCode(version);
  }

  /** Deletes code that is not among the kept. */
  forgetOthers(kept: () => readonly ServiceCode[]): Promise<void> {
    return this.#parts.nodes.forgetServices(() => kept().flatMap(code => this.#partIfThere(code) ?? []));
  }

  /** Performs a call that a service makes through its ctx. @returns a host answer */
  call(operation: MainOperation, parameters: string, requestId: string): Promise<string> {
    return this.#parts.functions.nested(operation, parameters, {caller: ANONYMOUS, requestId}, new ActionLines());
  }

  /**
   * Subscribes to a query.
   * @param args wire text.
   * @param tell receives each new result: wire text, or JSON of {name, message}
   * @throws session.overloaded 503
   */
  watch(path: string, args: string, tell: (ok: boolean, text: string) => void): ServiceWatch {
    const {functions, subscribedQueries, redactErrors} = this.#parts;
    const requested = {kind: functions.queryKind(path), path, args, journal: null, isInternal: true};
    return new ServiceWatch(subscribedQueries, requested, result => {
      if (result.ok) tell(true, result.text);
      else tell(false, JSON.stringify({name: 'Error', message: nestedError(result.error, redactErrors)}));
    });
  }

  #partIfThere(code: ServiceCode): NodePart | null {
    try {
      return this.#part(code);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return null;
    }
  }

  /** @throws op.invalid_input 400 */
  #part({source, node_version}: ServiceCode): NodePart {
    if (source.type === 'inline') {
      const sha256 = createHash('sha256').update(source.code).digest('hex');
      return {version: node_version ?? NODE_VERSION_DEFAULT, files: [{path: `${INLINE}.js`, sha256}]};
    }
    const live = this.#parts.live();
    const part = live === null ? null : this.#parts.partOf(live.code.id);
    const files = part?.files ?? [];
    const modules = files.map(({path}) => path.replace(/\.js$/, '')).filter(path => !path.startsWith('_deps/'));
    if (part === null || !modules.includes(moduleOf(source.path))) {
      const there = modules.length === 0 ? 'it has none' : `those are ${modules.slice(0, 20).join(', ')}`;
      throw invalid(`source.path must be a module of the active deployment that begins with "use node"; ${there}`);
    }
    return {...part, version: node_version ?? part.version};
  }
}

/** `a/b.ts`, `a/b.js` and `a/b` are the same module. */
function moduleOf(path: string): string {
  return path.replace(/\.[jt]s$/, '');
}
