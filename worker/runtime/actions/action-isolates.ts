/**
 * The isolates of an action thread, one per running action. When an action ends, its isolate waits a while for the next
 * action of the same deployment; then its memory is freed. An isolate is never reused if its action did not end in
 * order or has changed built-ins.
 */

import type {DeploymentCode} from '../execution.ts';
import type {HostCall} from '../guest/host-call.ts';
import {type CodeSource, type Realm, RealmHost} from '../isolate/realm.ts';
import {
  ACTION_ISOLATE_IDLE_MS,
  ACTION_ISOLATES_IDLE_MAX,
  ISOLATE_HEAP_RECYCLE_BYTES,
  ISOLATE_MEMORY_MB,
} from '../limits.ts';
import {refusal} from './action-message.ts';

export class ActionIsolate {
  readonly deployment: number;
  readonly host: RealmHost;
  readonly realm: Realm;
  /** Handles the host calls of the isolate. */
  #answers: HostCall = idle;
  #invocation = 0;

  constructor(deployment: DeploymentCode, code: CodeSource) {
    this.deployment = deployment.id;
    this.host = RealmHost.open({memoryMb: ISOLATE_MEMORY_MB});
    this.realm = this.host.createRealm(code, (op, a, b, c, d) => this.#answers(op, a, b, c, d), 'compared');
  }

  /** @returns the number of the next invocation */
  begin(answers: HostCall): number {
    this.#answers = answers;
    return ++this.#invocation;
  }

  end(): void {
    this.#answers = idle;
  }
}

const idle: HostCall = () => refusal('no action is under way');

export class ActionIsolates {
  readonly #codeOf: (deployment: DeploymentCode) => CodeSource;
  /** The most recently used one is last. */
  #idle: {isolate: ActionIsolate; timer: NodeJS.Timeout; sinceMs: number}[] = [];

  constructor(codeOf: (deployment: DeploymentCode) => CodeSource) {
    this.#codeOf = codeOf;
  }

  /** Takes an idle isolate of the deployment, or creates one. */
  take(deployment: DeploymentCode): ActionIsolate {
    const at = this.#idle.findLastIndex(({isolate}) => isolate.deployment === deployment.id);
    if (at === -1) return new ActionIsolate(deployment, this.#codeOf(deployment));
    const [found] = this.#idle.splice(at, 1);
    clearTimeout(found!.timer);
    return found!.isolate;
  }

  /** @param inOrder nothing of its action runs or waits any more */
  giveBack(isolate: ActionIsolate, inOrder: boolean): void {
    isolate.end();
    const {host} = isolate;
    if (!inOrder || host.isDisposed || host.heapBytes > ISOLATE_HEAP_RECYCLE_BYTES || !isolate.realm.isReusable()) {
      host.dispose();
      return;
    }
    const timer = setTimeout(() => this.#drop(isolate), ACTION_ISOLATE_IDLE_MS).unref();
    this.#idle.push({isolate, timer, sinceMs: performance.now()});
    if (this.#idle.length > ACTION_ISOLATES_IDLE_MAX) this.#drop(this.#idle[0]!.isolate);
  }

  /** @param unusedMs only those that have waited this long */
  releaseIdle(unusedMs: number): void {
    const untilMs = performance.now() - unusedMs;
    for (const {isolate, sinceMs} of [...this.#idle]) if (sinceMs <= untilMs) this.#drop(isolate);
  }

  #drop(isolate: ActionIsolate): void {
    const at = this.#idle.findIndex(entry => entry.isolate === isolate);
    const [dropped] = this.#idle.splice(at, 1);
    clearTimeout(dropped!.timer);
    isolate.host.dispose();
  }
}
