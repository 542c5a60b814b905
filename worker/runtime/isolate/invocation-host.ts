/**
 * Handles the host calls of a realm of queries or mutations, for one invocation after another. It returns texts and
 * never throws into the isolate, because an internal error would carry its stack there. Errors that end the process or
 * the commit group (a failed assertion, a storage error) are kept and thrown once the isolate has returned. An
 * invocation that is out of time has all its calls refused and its isolate ended, because user code could catch a
 * refusal and call again forever.
 */

import {ConsoleLines} from '../console-lines.ts';
import {CryptoBudget, cryptoCall} from '../crypto/crypto-host.ts';
import type {HostDatabase} from '../database/host-database.ts';
import {type Deadline, TimeIsUp} from '../deadline.ts';
import {type Execution, type Outcome, unverified} from '../execution.ts';
import {type HostCall, HostOp, Observed, type RealmError} from '../guest/host-call.ts';
import {ERROR_MESSAGE_CHARS_MAX, ERROR_NAME_CHARS_MAX, ERROR_STACK_CHARS_MAX} from '../guest/limits.ts';

/** Scheduling by a mutation, inside its own transaction. Answers are host answers, `+…` or `-…`. */
export interface FunctionScheduler {
  /** @param parameters JSON of {path, args, delayMs | runAtMs} */
  schedule(parameters: string, nowMs: number): string;
  cancel(jobId: string): string;
}

export class InvocationHost {
  readonly #database: HostDatabase;
  readonly #scheduler: FunctionScheduler | null;
  readonly #deadline: Deadline;
  readonly #onOver: () => void;
  #crypto = new CryptoBudget();
  #execution: Execution | null = null;
  #env: Execution['env'] = {};
  #number = 0;
  outcome: Outcome | null = null;
  lines: string[] = [];
  #console = new ConsoleLines(line => this.lines.push(line));
  /** The result depends on the caller's identity. */
  identityUsed = false;
  /** `Observed` bits: whether the result depends on the time or on random numbers. */
  observed = 0;
  /** The invocation is out of time. */
  isOver = false;
  #fatal: unknown = null;

  /** @param onOver ends the isolate */
  constructor(
    database: HostDatabase,
    scheduler: FunctionScheduler | null,
    {deadline, onOver}: {deadline: Deadline; onOver: () => void},
  ) {
    this.#database = database;
    this.#scheduler = scheduler;
    this.#deadline = deadline;
    this.#onOver = onOver;
  }

  /** @param execution null: modules are being loaded, with these variables */
  begin(invocation: number, execution: Execution | null, env: Execution['env']): void {
    this.#env = env;
    this.#number = invocation;
    this.#execution = execution;
    this.outcome = null;
    this.lines = [];
    this.#console = new ConsoleLines(line => this.lines.push(line));
    this.identityUsed = false;
    this.observed = 0;
    this.isOver = false;
    this.#crypto = new CryptoBudget();
    if (execution !== null) this.#database.begin({endCursor: execution.endCursor, deadline: this.#deadline});
  }

  /** Throws errors that must not reach user code. */
  end(): void {
    if (this.#execution !== null) this.#database.end();
    this.#execution = null;
    const fatal = this.#fatal;
    this.#fatal = null;
    if (fatal !== null) throw fatal;
  }

  readonly call: HostCall = (op, a, b, c) => {
    if (this.isOver) return OVER;
    try {
      this.#deadline.check();
      return this.#answer(op, a, b, c);
    } catch (caught) {
      if (!(caught instanceof TimeIsUp)) {
        this.#fatal ??= caught;
        return refusal('the service failed');
      }
      this.isOver = true;
      this.#onOver();
      return OVER;
    }
  };

  #answer(op: HostOp, a: unknown, b: unknown, c: unknown): string {
    switch (op) {
      case HostOp.done:
        if (a === this.#number && this.outcome === null) this.#succeeded(String(b), Number(c));
        return '+';
      case HostOp.failed:
        if (a === this.#number && this.outcome === null) this.outcome = {ok: false, error: realmError(String(b))};
        return '+';
      case HostOp.log:
        this.#console.add(String(a));
        return '+';
      case HostOp.env:
        return this.#variable(String(a));
      case HostOp.envNames:
        return `+${JSON.stringify(Object.keys(this.#env))}`;
      case HostOp.crypto:
        if (!REPEATABLE_CRYPTO.has(String(a))) this.observed |= Observed.random;
        return cryptoCall(String(a), String(b), c instanceof Uint8Array ? c : undefined, this.#crypto);
      default:
        return this.#execution === null ? refusal("Can't use database at import time") : this.#operate(op, a, b, c);
    }
  }

  #operate(op: HostOp, a: unknown, b: unknown, c: unknown): string {
    const {caller, nowMs} = this.#execution!;
    switch (op) {
      case HostOp.identity:
        this.identityUsed = true;
        if ('invalid' in caller) return refusal(unverified(caller));
        return `+${caller.identity ?? 'null'}`;
      case HostOp.schedule:
        return this.#scheduler?.schedule(String(a), nowMs) ?? refusal('ctx.scheduler is not available in queries');
      case HostOp.cancel:
        return this.#scheduler?.cancel(String(a)) ?? refusal('ctx.scheduler is not available in queries');
      default:
        return this.#database.call(op, argument(a), optional(b), optional(c));
    }
  }

  #succeeded(value: string, observed: number): void {
    this.outcome = {ok: true, value};
    this.observed |= observed;
  }

  #variable(name: string): string {
    return Object.hasOwn(this.#env, name) ? `+${JSON.stringify(this.#env[name])}` : '+null';
  }
}

/**
 * Operations of `crypto.subtle` that draw no random numbers. Keys are random, and so are some kinds of signatures and
 * ciphertexts.
 */
const REPEATABLE_CRYPTO: ReadonlySet<string> = new Set([
  'digest',
  'verify',
  'decrypt',
  'deriveBits',
  'importKey',
  'exportKey',
]);

function argument(value: unknown): string | number {
  return typeof value === 'number' ? value : String(value);
}

function optional(value: unknown): string | number | undefined {
  return value === undefined ? undefined : argument(value);
}

function refusal(message: string): string {
  return `-${JSON.stringify({name: 'Error', message})}`;
}

const OVER = refusal('the invocation has had its time');

/** The kernel's description of what was thrown, which user code can have tampered with. */
export function realmError(text: string): RealmError {
  try {
    const {name, message, stack} = JSON.parse(text) as Partial<RealmError>;
    return {
      name: typeof name === 'string' ? name.slice(0, ERROR_NAME_CHARS_MAX) : 'Error',
      message: typeof message === 'string' ? message.slice(0, ERROR_MESSAGE_CHARS_MAX) : '',
      stack: typeof stack === 'string' ? stack.slice(0, ERROR_STACK_CHARS_MAX) : null,
    };
  } catch {
    return {name: 'Error', message: 'a value that cannot be shown', stack: null};
  }
}
