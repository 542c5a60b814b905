/** The kernel of dist/realm.js in a real isolate, around code that means harm; its host only records what reaches it. */

import {cryptoCall} from '../../../worker/runtime/crypto/crypto-host.ts';
import {HostOp, type InvocationKind} from '../../../worker/runtime/guest/host-call.ts';
import {type Realm, RealmHost} from '../../../worker/runtime/isolate/realm.ts';
import {FUNCTION_LOAD_MS_MAX, ISOLATE_MEMORY_MB} from '../../../worker/runtime/limits.ts';

export type HostedCall = {op: number; args: unknown[]};
/** What the attack came to: it returned, it threw, or it said nothing any more. */
export type Outcome = {value?: unknown; thrown?: string; stack?: string | null};

const DEPLOYED_AT = Date.UTC(2024, 1, 3);

export class Sandbox {
  readonly isolate: RealmHost;
  readonly realm: Realm;
  readonly #files = new Map<string, string>();
  #invocation = 0;
  calls: HostedCall[] = [];
  #outcome: Outcome = {};

  constructor(memoryMb = ISOLATE_MEMORY_MB) {
    this.isolate = RealmHost.open({memoryMb});
    const code = {
      timestampMs: DEPLOYED_AT,
      seed: '0123456789abcdef'.repeat(2),
      read: (path: string) => this.#files.get(path)!,
    };
    this.realm = this.isolate.createRealm(code, this.#answer, 'once');
  }

  /** @param body of a handler, `(ctx, args)`. @throws what isolated-vm throws: a time-out, the end of the isolate */
  attack(body: string, {kind = 'query', timeoutMs = 5_000, args = '{}', top = ''}: AttackOptions = {}): Outcome {
    const n = ++this.#invocation;
    const module = `attack-${n}.js`;
    this.#files.set(module, `${top}\nexport const f = {_handler: async (ctx, args) => {${body}\n}};`);
    this.calls = [];
    this.#outcome = {};
    this.realm.load(module, FUNCTION_LOAD_MS_MAX);
    const seed = '00112233445566778899aabbccddeeff';
    const invocation = {n, module, name: 'f', kind, paginated: false, args, nowMs: DEPLOYED_AT, seed};
    this.realm.runSync(invocation, timeoutMs);
    return this.#outcome;
  }

  close(): void {
    this.isolate.dispose();
  }

  readonly #answer = (op: number, ...args: unknown[]): string => {
    this.calls.push({op, args});
    switch (op) {
      case HostOp.done:
        this.#outcome = {value: JSON.parse(String(args[1]))};
        return '+';
      case HostOp.failed: {
        const {name, message, stack} = JSON.parse(String(args[1])) as {
          name: string;
          message: string;
          stack: string | null;
        };
        this.#outcome = {thrown: `${name}: ${message}`, stack};
        return '+';
      }
      case HostOp.log:
        return '+';
      case HostOp.env:
        return '+"secret"';
      case HostOp.envNames:
        return '+["A"]';
      case HostOp.crypto:
        return cryptoCall(String(args[0]), String(args[1]), args[2] instanceof Uint8Array ? args[2] : undefined);
      default:
        return '-{"name":"TypeError","message":"refused by the host"}';
    }
  };
}

type AttackOptions = {
  kind?: InvocationKind;
  timeoutMs?: number;
  args?: string;
  /** Code at the top of the module. */
  top?: string;
};
