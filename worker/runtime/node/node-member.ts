/** One process of a Node pool and the calls that it runs. */

import type {ActionRequest} from '../actions/action-message.ts';
import {isJson} from '../process/is-json.ts';
import type {Framed, FromNode} from './node-message.ts';
import type {NodeCode, NodeEnd, NodeProcess, NodeProcessEvents} from './node-process.ts';
import type {NodeRun} from './node-run.ts';

type Started = Pick<ActionRequest, 'env' | 'egress'>;

export type NodeMemberParts = {
  open: (events: NodeProcessEvents) => NodeProcess;
  /** The process can take a call. */
  onFree: () => void;
  /** The process ended and its calls failed, except for one that it had not begun. */
  onEnd: (end: NodeEnd, unbegun: NodeRun | null) => void;
};

export class NodeMember {
  readonly code: NodeCode;
  readonly process: NodeProcess;
  readonly runs = new Map<number, NodeRun>();
  readonly #started: Started;
  readonly #idleMsMax: number;
  readonly #parts: NodeMemberParts;
  /** Sent to the process, not yet begun. */
  #unbegun: NodeRun | null = null;
  #isAwake = false;
  #isRequested = false;
  #isRetired = false;
  #idleSinceMs = performance.now();
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(code: NodeCode, started: Started, idleMsMax: number, parts: NodeMemberParts) {
    this.code = code;
    this.#started = started;
    this.#idleMsMax = idleMsMax;
    this.#parts = parts;
    this.process = parts.open({
      onReady: () => this.#awake(),
      onAlive: () => {
        this.#isRequested = false;
        this.#awake();
      },
      onMessage: message => this.#received(message),
      onEnd: end => this.#ended(end),
    });
  }

  /** Whether the process accepts calls and was started with the code, variables and policy that this call needs. */
  serves({root}: NodeCode, {env, egress}: Started): boolean {
    const {code} = this;
    const isSame = code.root === root && this.#started.env === env && this.#started.egress === egress;
    return isSame && !this.#isRetired && !this.process.isOver;
  }

  /** Whether the process would begin a call at once: it has answered its last probe. */
  get isFree(): boolean {
    return this.#isAwake && this.process.isReady && !this.#isRetired && this.#unbegun === null;
  }

  /** A call waits: probes whether the process is free. */
  ask(): void {
    if (this.#isRequested || this.#unbegun !== null || !this.process.isReady) return;
    this.#isRequested = true;
    this.process.send({type: 'look'});
  }

  /** Time since its last call, ms; -1: it has a call, or was just started for one. */
  get idleMs(): number {
    return this.runs.size > 0 || !this.process.isReady ? -1 : performance.now() - this.#idleSinceMs;
  }

  take(run: NodeRun): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.runs.set(run.action, run);
    this.#unbegun = run;
    this.process.watch(true);
    run.begin(this.process);
  }

  /** Accepts no more calls, and ends after the last one. */
  retire(): void {
    this.#isRetired = true;
    this.#rest();
  }

  abandon(run: NodeRun): void {
    if (this.#unbegun === run) this.#unbegun = null;
    this.runs.delete(run.action);
    this.retire();
  }

  kill(end: NodeEnd): void {
    this.process.kill(end);
  }

  #received(message: Framed<Exclude<FromNode, {type: 'ready' | 'alive'}>>): void {
    switch (message.type) {
      case 'analyzed':
      case 'serving':
      case 'served':
      case 'executed':
        return; // it was not probed
      case 'uncaught':
        this.#uncaught(message);
        return;
    }
    const run = this.runs.get(message.action);
    if (run === undefined) return;
    switch (message.type) {
      case 'begun':
        run.begun();
        if (this.#unbegun === run) this.#unbegun = null;
        this.#awake();
        return;
      case 'log':
        run.log(message.text);
        return;
      case 'start':
        void run.start(message);
        return;
      case 'outcome':
        if (message.ok && !isJson(message.text)) {
          this.process.violatedProtocol();
          return;
        }
        if (this.#unbegun === run) this.#unbegun = null;
        this.runs.delete(run.action);
        run.outcome(message.ok, message.text);
        this.#rest();
    }
  }

  #awake(): void {
    this.#isAwake = true;
    this.#parts.onFree();
    this.#isAwake = false;
  }

  /** Fails the call that threw, or all calls if the call is unknown. */
  #uncaught({action, text}: Framed<FromNode & {type: 'uncaught'}>): void {
    for (const run of [...this.runs.values()]) {
      if (action !== null && run.action !== action) continue;
      this.runs.delete(run.action);
      run.outcome(false, text);
    }
    this.retire();
  }

  #rest(): void {
    if (this.runs.size > 0) return;
    this.#idleSinceMs = performance.now();
    this.process.watch(false);
    if (this.#isRetired) this.kill({cause: 'told', message: 'it was replaced'});
    else this.#idleTimer = setTimeout(() => this.retire(), this.#idleMsMax).unref();
  }

  #ended(end: NodeEnd): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    const unbegun = this.#unbegun;
    for (const run of this.runs.values()) if (run !== unbegun) run.fail(end.message);
    this.runs.clear();
    this.#parts.onEnd(end, unbegun);
  }
}
