/**
 * Formats values for the log: strings quoted, objects over several lines, short arrays on one line. Formatting runs no
 * code of the value, except what a Proxy makes unavoidable. The output is bounded for every value.
 */
import {INSPECT_CHARS_MAX} from '../limits.ts';

const DEPTH_MAX = 6;
const ITEMS_MAX = 100;
const LINE_CHARS = 72;

const known = new WeakMap<object, string>();

/** Shows one of our own objects as this text. */
export function showAs(value: object, text: string): void {
  known.set(value, text);
}

const byPrototype = new WeakMap<object, (value: object) => string>();

/** For classes of ours whose content is not in their properties. */
export function showInstancesAs(prototype: object, text: (value: object) => string): void {
  byPrototype.set(prototype, text);
}

export function inspect(value: unknown): string {
  try {
    return new Inspection().show(value, 0);
  } catch {
    return '[a value that cannot be shown]';
  }
}

class Inspection {
  readonly #path: object[] = [];
  #chars = 0;

  show(value: unknown, depth: number): string {
    const text = this.#text(value, depth);
    this.#chars += text.length;
    return text;
  }

  #text(value: unknown, depth: number): string {
    switch (typeof value) {
      case 'string':
        return quoted(value);
      case 'number':
        return Object.is(value, -0) ? '-0' : `${value}`;
      case 'bigint':
        return `${value}n`;
      case 'function':
      case 'object':
        return value === null ? 'null' : this.#object(value, depth);
      default:
        return String(value);
    }
  }

  #object(value: object, depth: number): string {
    const own = known.get(value) ?? ownText(value);
    if (own !== undefined) return own;
    if (this.#path.includes(value)) return '[Circular]';
    if (this.#chars > INSPECT_CHARS_MAX) return '…';
    this.#path.push(value);
    try {
      return this.#shown(value, depth);
    } finally {
      this.#path.pop();
    }
  }

  #shown(value: object, depth: number): string {
    if (typeof value === 'function') return this.#withFields(functionTag(value), value, depth);
    if (value instanceof Error) return this.#withFields(errorText(value), value, depth);
    const tag = nameOf(value);
    if (depth > DEPTH_MAX) return Array.isArray(value) ? '[Array]' : `[${tag ?? 'Object: null prototype'}]`;
    if (Array.isArray(value)) return this.#array(value, tag === 'Array' ? '' : `${tag}(${value.length}) `, depth);
    const special = this.#special(value, tag, depth);
    if (special !== null) return special;
    return this.#record(value, tag === 'Object' ? '' : tag === null ? '[Object: null prototype] ' : `${tag} `, depth);
  }

  /** Formats built-in objects whose content is not in their properties. Null: the value is none of them. */
  #special(value: object, tag: string | null, depth: number): string | null {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof RegExp) return RegExp.prototype.toString.call(value);
    if (value instanceof Map) {
      const entries = firstOf(value.entries()).map(
        ([k, v]) => `${this.show(k, depth + 1)} => ${this.show(v, depth + 1)}`,
      );
      return `${tag}(${value.size}) ${bracketed('{', entries, value.size, '}')}`;
    }
    if (value instanceof Set) {
      const items = firstOf(value.values()).map(item => this.show(item, depth + 1));
      return `${tag}(${value.size}) ${bracketed('{', items, value.size, '}')}`;
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      const view = value as unknown as ArrayLike<number | bigint>;
      const items = Array.from({length: Math.min(view.length, ITEMS_MAX)}, (_, i) => this.show(view[i], depth));
      return `${tag}(${view.length}) ${bracketed('[', items, view.length, ']')}`;
    }
    if (value instanceof ArrayBuffer) return `ArrayBuffer {\n  byteLength: ${value.byteLength}\n}`;
    if (value instanceof Promise) return 'Promise {}';
    for (const Boxed of [String, Number, Boolean, Symbol, BigInt]) {
      if (value instanceof Boxed)
        return `[${Boxed.name}: ${this.show(Reflect.apply(Boxed.prototype.valueOf, value, []), depth)}]`;
    }
    return null;
  }

  #array(value: unknown[], tag: string, depth: number): string {
    const items: string[] = [];
    for (let i = 0; i < Math.min(value.length, ITEMS_MAX); i++) {
      items.push(Object.hasOwn(value, i) ? this.#property(value, i, depth + 1) : '<empty>');
    }
    return tag + bracketed('[', items, value.length, ']');
  }

  #record(value: object, tag: string, depth: number): string {
    const fields = this.#fields(value, depth);
    return fields.length === 0 ? `${tag}{}` : `${tag}{\n${fields.map(indented).join(',\n')}\n}`;
  }

  #withFields(head: string, value: object, depth: number): string {
    if (depth > DEPTH_MAX) return head;
    const fields = this.#fields(value, depth);
    return fields.length === 0 ? head : `${head} {\n${fields.map(indented).join(',\n')}\n}`;
  }

  #fields(value: object, depth: number): string[] {
    const fields: string[] = [];
    for (const key of Reflect.ownKeys(value)) {
      if (!Object.getOwnPropertyDescriptor(value, key)?.enumerable) continue;
      if (fields.length === ITEMS_MAX || this.#chars > INSPECT_CHARS_MAX) {
        fields.push('…');
        break;
      }
      const name = typeof key === 'symbol' ? `[${String(key)}]` : IDENTIFIER.test(key) ? key : quoted(key);
      fields.push(`${name}: ${this.#property(value, key, depth + 1)}`);
    }
    return fields;
  }

  #property(value: object, key: PropertyKey, depth: number): string {
    const property = Object.getOwnPropertyDescriptor(value, key)!;
    if (property.get !== undefined) return property.set === undefined ? '[Getter]' : '[Getter/Setter]';
    if (property.set !== undefined) return '[Setter]';
    return this.show(property.value, depth);
  }
}

function ownText(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null ? undefined : byPrototype.get(prototype)?.(value);
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The class of a value, without running getters. Null: it has no prototype. */
function nameOf(value: object): string | null {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null) return null;
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const made = Object.getOwnPropertyDescriptor(at, 'constructor')?.value as unknown;
    if (typeof made !== 'function') continue;
    const name = Object.getOwnPropertyDescriptor(made, 'name')?.value as unknown;
    if (typeof name === 'string' && name !== '') return name;
  }
  return 'Object';
}

function functionTag(value: object): string {
  const name = Object.getOwnPropertyDescriptor(value, 'name')?.value as unknown;
  const isClass = Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false;
  const kind = isClass ? 'class' : 'Function';
  if (typeof name !== 'string' || name === '') return `[${kind} (anonymous)]`;
  return isClass ? `[class ${name}]` : `[Function: ${name}]`;
}

function errorText(error: Error): string {
  const stack: unknown = error.stack;
  const text = typeof stack === 'string' && stack !== '' ? stack : `[${error.name}: ${error.message}]`;
  const cause = Object.getOwnPropertyDescriptor(error, 'cause')?.value as unknown;
  return cause instanceof Error && cause !== error ? `${text}\n  [cause]: ${cause.name}: ${cause.message}` : text;
}

function firstOf<T>(items: Iterable<T>): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length === ITEMS_MAX) break;
    first.push(item);
  }
  return first;
}

/** On one line if it is short. @param count of all items; those beyond the limit are only counted */
function bracketed(open: string, items: string[], count: number, close: string): string {
  if (count === 0) return open + close;
  const shown = count > items.length ? [...items, `… ${count - items.length} more`] : items;
  const line = shown.join(', ');
  if (line.length <= LINE_CHARS && !line.includes('\n')) return `${open} ${line} ${close}`;
  return `${open}\n${shown.map(indented).join(',\n')}\n${close}`;
}

function indented(text: string): string {
  return `  ${text.replaceAll('\n', '\n  ')}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
  '\\': '\\\\',
};

/** Single quotes, unless other quotes need fewer escapes. */
export function quoted(text: string): string {
  const short = text.length > INSPECT_CHARS_MAX ? text.slice(0, INSPECT_CHARS_MAX) : text;
  const quote = !short.includes("'") ? "'" : !short.includes('"') ? '"' : !short.includes('`') ? '`' : "'";
  const escaped = short.replace(/[\\\u0000-\u001f\u007f]/g, char => {
    return ESCAPES[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}
