/** `Event`, `CustomEvent` and `EventTarget`, without a tree: an event goes to its target only. */
import {elapsedMs} from '../clock.ts';
import {define} from '../define.ts';

type Dispatch = {
  target: EventTarget | null;
  current: EventTarget | null;
  isUnderWay: boolean;
  isStopped: boolean;
  isPassive: boolean;
};
const dispatches = new WeakMap<Event, Dispatch>();

export class Event {
  static readonly NONE = 0;
  static readonly CAPTURING_PHASE = 1;
  static readonly AT_TARGET = 2;
  static readonly BUBBLING_PHASE = 3;

  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly timeStamp: number;
  readonly isTrusted = false;
  #isPrevented = false;
  #isCancelled = false;

  constructor(type: unknown, init: {bubbles?: boolean; cancelable?: boolean; composed?: boolean} = {}) {
    // By the standard `undefined` is the type "undefined"; only no argument at all is a mistake.
    // biome-ignore lint/complexity/noArguments: a parameter that was not given cannot be distinguished from undefined otherwise.
    if (arguments.length === 0) throw new TypeError('Event: the type is missing');
    this.type = String(type);
    this.bubbles = Boolean(init?.bubbles);
    this.cancelable = Boolean(init?.cancelable);
    this.composed = Boolean(init?.composed);
    this.timeStamp = elapsedMs();
    dispatches.set(this, {target: null, current: null, isUnderWay: false, isStopped: false, isPassive: false});
  }

  get target(): EventTarget | null {
    return dispatches.get(this)!.target;
  }
  get srcElement(): EventTarget | null {
    return this.target;
  }
  get currentTarget(): EventTarget | null {
    return dispatches.get(this)!.current;
  }
  get eventPhase(): number {
    return dispatches.get(this)!.isUnderWay ? Event.AT_TARGET : Event.NONE;
  }
  get defaultPrevented(): boolean {
    return this.#isPrevented;
  }
  get returnValue(): boolean {
    return !this.#isPrevented;
  }
  get cancelBubble(): boolean {
    return this.#isCancelled;
  }
  composedPath(): EventTarget[] {
    const {current} = dispatches.get(this)!;
    return current === null ? [] : [current];
  }
  preventDefault(): void {
    if (this.cancelable && !dispatches.get(this)!.isPassive) this.#isPrevented = true;
  }
  stopPropagation(): void {
    this.#isCancelled = true;
  }
  stopImmediatePropagation(): void {
    this.#isCancelled = true;
    dispatches.get(this)!.isStopped = true;
  }
}
define(Event.prototype, Symbol.toStringTag, 'Event');

export class CustomEvent extends Event {
  readonly detail: unknown;

  constructor(
    type: unknown,
    init: {detail?: unknown; bubbles?: boolean; cancelable?: boolean; composed?: boolean} = {},
  ) {
    // biome-ignore lint/complexity/noArguments: as above; what is passed on is always there.
    if (arguments.length === 0) throw new TypeError('CustomEvent: the type is missing');
    super(type, init);
    this.detail = init?.detail ?? null;
  }
}
define(CustomEvent.prototype, Symbol.toStringTag, 'CustomEvent');

type Handler = ((event: Event) => unknown) | {handleEvent(event: Event): unknown};
type Listener = {type: string; handler: Handler; capture: boolean; once: boolean; passive: boolean; isRemoved: boolean};
type ListenerOptions =
  | boolean
  | {capture?: boolean; once?: boolean; passive?: boolean; signal?: EventTarget & {aborted: boolean}};

export class EventTarget {
  readonly #listeners: Listener[] = [];

  addEventListener(type: unknown, handler: Handler | null, options?: ListenerOptions): void {
    const {capture, once, passive, signal} = optionsOf(options);
    if (handler === null || handler === undefined || signal?.aborted) return;
    if (typeof handler !== 'function' && typeof handler !== 'object') {
      throw new TypeError('addEventListener: the listener must be a function or an object');
    }
    const name = String(type);
    if (this.#listeners.some(known => isSame(known, name, handler, Boolean(capture)))) return;
    const listener = {
      type: name,
      handler,
      capture: Boolean(capture),
      once: Boolean(once),
      passive: Boolean(passive),
      isRemoved: false,
    };
    this.#listeners.push(listener);
    signal?.addEventListener('abort', () => this.removeEventListener(name, handler, options), {once: true});
  }

  removeEventListener(type: unknown, handler: Handler | null, options?: ListenerOptions): void {
    const capture = Boolean(optionsOf(options).capture);
    const at = this.#listeners.findIndex(known => isSame(known, String(type), handler, capture));
    if (at === -1) return;
    this.#listeners[at]!.isRemoved = true;
    this.#listeners.splice(at, 1);
  }

  dispatchEvent(event: Event): boolean {
    const dispatch = dispatches.get(event);
    if (dispatch === undefined) throw new TypeError('dispatchEvent: the argument must be an Event');
    if (dispatch.isUnderWay) throw new Error('dispatchEvent: the event is being dispatched already');
    Object.assign(dispatch, {target: this, current: this, isUnderWay: true, isStopped: false});
    for (const listener of [...this.#listeners]) {
      if (listener.type !== event.type || listener.isRemoved || dispatch.isStopped) continue;
      if (listener.once) this.removeEventListener(listener.type, listener.handler, listener.capture);
      dispatch.isPassive = listener.passive;
      this.#call(listener.handler, event);
    }
    Object.assign(dispatch, {current: null, isUnderWay: false, isPassive: false});
    return !event.defaultPrevented;
  }

  /** An error in one listener does not prevent the other listeners from running. */
  #call(handler: Handler, event: Event): void {
    try {
      if (typeof handler === 'function') handler.call(this, event);
      else handler.handleEvent(event);
    } catch (thrown) {
      console.error('Uncaught', thrown);
    }
  }
}
define(EventTarget.prototype, Symbol.toStringTag, 'EventTarget');

function optionsOf(options: ListenerOptions | undefined): Exclude<ListenerOptions, boolean> {
  return typeof options === 'object' && options !== null ? options : {capture: Boolean(options)};
}

function isSame(known: Listener, type: string, handler: Handler | null, capture: boolean): boolean {
  return known.type === type && known.handler === handler && known.capture === capture;
}

/** An `on…` attribute: one replaceable listener. */
export function defineHandler(prototype: EventTarget, type: string): void {
  const handlers = new WeakMap<EventTarget, (event: Event) => unknown>();
  const listeners = new WeakMap<EventTarget, (event: Event) => unknown>();
  Object.defineProperty(prototype, `on${type}`, {
    configurable: true,
    enumerable: true,
    get(this: EventTarget) {
      return handlers.get(this) ?? null;
    },
    set(this: EventTarget, handler: unknown) {
      if (typeof handler === 'function') handlers.set(this, handler as (event: Event) => unknown);
      else handlers.delete(this);
      if (listeners.has(this)) return;
      const listener = (event: Event): unknown => handlers.get(this)?.call(this, event);
      listeners.set(this, listener);
      this.addEventListener(type, listener);
    },
  });
}
