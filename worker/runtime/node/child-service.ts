/** The service of a Node process: calls one module's default export once, and runs until its signal or its own end. */
import {type HostCall, HostOp} from '../guest/host-call.ts';
import type {openService} from '../guest/node-call.ts';
import type {NodeService} from '../guest/node-service.ts';
import {type FromNode, SERVICE_ACTION} from './node-message.ts';

export type ChildServiceParts = {
  open: typeof openService;
  load: (module: string) => Promise<Record<string, unknown>>;
  send: (message: FromNode, text?: string) => void;
  /** Returns what was thrown as JSON. */
  described: (thrown: unknown) => string;
  /** Rewrites the file names in stack frames to those of the deployment. */
  relocated: (text: string) => string;
};

export class ChildService {
  readonly #parts: ChildServiceParts;
  readonly #kernel: NodeService;
  readonly #ending = new AbortController();

  constructor(parts: ChildServiceParts) {
    this.#parts = parts;
    const {send, relocated} = parts;
    const host: HostCall = (op, a, b, c) => {
      switch (op) {
        case HostOp.log:
          send({type: 'log', action: SERVICE_ACTION}, relocated(String(a)));
          return '+';
        case HostOp.now:
          return `+${Date.now()}`;
        case HostOp.start:
          send({type: 'start', action: SERVICE_ACTION, call: Number(a), operation: String(b)}, String(c));
          return '+';
        default:
          return `-${JSON.stringify({name: 'Error', message: 'this is not available in services'})}`;
      }
    };
    this.#kernel = parts.open(host);
  }

  get console(): NodeService['console'] {
    return this.#kernel.console;
  }

  async serve(module: string): Promise<void> {
    const {load, send, described} = this.#parts;
    const began = () => send({type: 'serving'});
    try {
      await this.#kernel.run(() => load(module), module, this.#ending.signal, began);
    } catch (thrown) {
      send({type: 'served', ok: false}, described(thrown));
      return;
    }
    send({type: 'served', ok: true});
  }

  settle(call: number, answer: string): void {
    this.#kernel.settle(call, answer);
  }

  /** An error thrown by a listener is uncaught, which ends the service. */
  changed(watch: number, ok: boolean, text: string): void {
    void this.#kernel.changed(watch, ok, text);
  }

  stop(): void {
    this.#ending.abort();
  }
}
