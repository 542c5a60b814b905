/**
 * `Headers`: case-insensitive names, checked values, iteration in the order of the names; Set-Cookie values are not
 * joined.
 */
import {define} from '../define.ts';
import {inspect, showInstancesAs} from '../inspect.ts';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class Headers {
  /** By lower-case name. */
  readonly #values = new Map<string, string[]>();

  constructor(init?: unknown) {
    if (init === undefined) return;
    if (typeof init !== 'object' || init === null)
      throw new TypeError('Headers: the argument must be a record or a sequence');
    const pairs = Symbol.iterator in init ? [...(init as Iterable<Iterable<unknown>>)] : recordPairs(init);
    for (const pair of pairs) {
      if (typeof pair !== 'object' || pair === null) throw new TypeError('Headers: each entry must be a pair');
      const entry = [...pair];
      if (entry.length !== 2) throw new TypeError('Headers: each entry must be a pair');
      this.append(entry[0], entry[1]);
    }
  }

  append(name: unknown, value: unknown): void {
    const key = checkedName(name);
    const text = checkedValue(value);
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, [text]);
    else known.push(text);
  }
  set(name: unknown, value: unknown): void {
    this.#values.set(checkedName(name), [checkedValue(value)]);
  }
  delete(name: unknown): void {
    this.#values.delete(checkedName(name));
  }
  get(name: unknown): string | null {
    return this.#values.get(checkedName(name))?.join(', ') ?? null;
  }
  has(name: unknown): boolean {
    return this.#values.has(checkedName(name));
  }
  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }
  forEach(callback: (value: string, name: string, headers: Headers) => unknown, self?: unknown): void {
    for (const [name, value] of this) Reflect.apply(callback, self, [value, name, this]);
  }
  *entries(): Generator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name) ?? [];
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }
  *keys(): Generator<string> {
    for (const [name] of this.entries()) yield name;
  }
  *values(): Generator<string> {
    for (const [, value] of this.entries()) yield value;
  }
  [Symbol.iterator](): Generator<[string, string]> {
    return this.entries();
  }
}
define(Headers.prototype, Symbol.toStringTag, 'Headers');
showInstancesAs(Headers.prototype, headers => `Headers ${inspect(Object.fromEntries(headers as Headers))}`);

function recordPairs(record: object): [string, unknown][] {
  const pairs: [string, unknown][] = [];
  for (const key of Reflect.ownKeys(record)) {
    if (!Object.getOwnPropertyDescriptor(record, key)?.enumerable) continue;
    if (typeof key === 'symbol') throw new TypeError('Headers: a symbol is no header name');
    pairs.push([key, (record as Record<string, unknown>)[key]]);
  }
  return pairs;
}

function checkedName(name: unknown): string {
  const text = String(name);
  if (!NAME.test(text)) throw new TypeError(`Headers: ${JSON.stringify(text)} is an invalid header name`);
  return text.toLowerCase();
}

function checkedValue(value: unknown): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]|[^\0-\xff]/.test(text))
    throw new TypeError(`Headers: ${JSON.stringify(text)} is an invalid header value`);
  return text;
}
