/** `AbortController` and `AbortSignal`. `AbortSignal.timeout` needs a timer, which only actions have. */
import {startTimer} from '../../actions/timers.ts';
import {define} from '../define.ts';
import {requireAction} from '../phase.ts';
import {DOMException} from './dom-exception.ts';
import {defineHandler, Event, EventTarget} from './events.ts';

const OURS = Symbol('made by this module');
let abortSignal: (signal: AbortSignal, reason: unknown) => void;

export class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason: unknown = undefined;
  declare onabort: ((event: Event) => unknown) | null;

  static {
    abortSignal = (signal, reason) => {
      if (signal.#isAborted) return;
      signal.#isAborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      signal.dispatchEvent(new Event('abort'));
    };
  }

  constructor(key: unknown) {
    if (key !== OURS) throw new TypeError('Illegal constructor');
    super();
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = new AbortSignal(OURS);
    abortSignal(signal, reason);
    return signal;
  }

  static timeout(ms: unknown): AbortSignal {
    requireAction('AbortSignal.timeout', 'AbortSignal.timeout()', '.');
    const signal = new AbortSignal(OURS);
    const expire = (): void =>
      abortSignal(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    startTimer(expire, Number(ms), [], false);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const all = [...signals];
    const result = new AbortSignal(OURS);
    const aborted = all.find(signal => signal.aborted);
    if (aborted !== undefined) {
      abortSignal(result, aborted.reason);
      return result;
    }
    for (const signal of all) signal.addEventListener('abort', () => abortSignal(result, signal.reason), {once: true});
    return result;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }
  get reason(): unknown {
    return this.#reason;
  }
  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }
}
define(AbortSignal.prototype, Symbol.toStringTag, 'AbortSignal');
defineHandler(AbortSignal.prototype, 'abort');

export class AbortController {
  readonly #signal = new AbortSignal(OURS);

  get signal(): AbortSignal {
    return this.#signal;
  }
  abort(reason?: unknown): void {
    abortSignal(this.#signal, reason);
  }
}
define(AbortController.prototype, Symbol.toStringTag, 'AbortController');
