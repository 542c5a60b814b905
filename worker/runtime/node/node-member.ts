/** One process of a pool with the calls that it has under way. */

import type {ActionRequest} from '../actions/action-message.ts';
import {isJson} from '../process/is-json.ts';
import type {Framed, FromNode} from './node-message.ts';
import type {NodeCode, NodeEnd, NodeProcess, NodeProcessEvents} from './node-process.ts';
import type {NodeRun} from './node-run.ts';

type Started = Pick<ActionRequest, 'env' | 'egress'>;

export type NodeMemberParts = {
  open: (events: NodeProcessEvents) => NodeProcess;
  /** It can take a call. */
  onFree: () => void;
  /** Its calls have failed, but for one that it never began. */
  onEnd: (end: NodeEnd, unbegun: NodeRun | null) => void;
};

export class NodeMember {
  readonly code: NodeCode;
  readonly process: NodeProcess;
  readonly runs = new Map<number, NodeRun>();
  readonly #started: Started;
  readonly #idleMsMax: number;
  readonly #parts: NodeMemberParts;
  /** Sent, and not begun. */
  #unbegun: NodeRun | null = null;
  #isAwake = false;
  #isAsked = false;
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
        this.#isAsked = false;
        this.#awake();
      },
      onMessage: message => this.#received(message),
      onEnd: end => this.#ended(end),
    });
  }

  /** Whether it was started with what this call is to run with, and takes calls. */
  serves({root}: NodeCode, {env, egress}: Started): boolean {
    const {code} = this;
    const isSame = code.root === root && this.#started.env === env && this.#started.egress === egress;
    return isSame && !this.#isRetired && !this.process.isOver;
  }

  /** Whether a call that is given to it now is begun at once: it is, while what it said is being heard. */
  get isFree(): boolean {
    return this.#isAwake && this.process.isReady && !this.#isRetired && this.#unbegun === null;
  }

  /** A call waits: it is asked whether it is free. */
  ask(): void {
    if (this.#isAsked || this.#unbegun !== null || !this.process.isReady) return;
    this.#isAsked = true;
    this.process.send({type: 'look'});
  }

  /** How long it has had no call; -1: it has one, or was just started for one. */
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

  /** It takes no more calls, and ends with the last one. */
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
        return; // nobody asked
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
          this.process.saidNonsense();
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

  /** Its own call fails, or all do when nobody knows whose code it was. */
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
