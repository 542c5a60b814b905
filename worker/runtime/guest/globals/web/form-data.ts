/** `FormData`: an ordered list of names and values, each a string or a file. */
import {define} from '../define.ts';
import {Blob, blobBytes, File} from './blob.ts';

export type FormValue = string | File;

export class FormData {
  #entries: [string, FormValue][] = [];

  constructor(form?: unknown) {
    if (form !== undefined) throw new TypeError('FormData: there are no form elements here');
  }

  append(...args: [name?: unknown, value?: unknown, filename?: unknown]): void {
    this.#entries.push(entryOf(args));
  }
  set(...args: [name?: unknown, value?: unknown, filename?: unknown]): void {
    const entry = entryOf(args);
    const at = this.#entries.findIndex(([known]) => known === entry[0]);
    if (at === -1) this.#entries.push(entry);
    else this.#entries = this.#entries.filter(([known], i) => i <= at || known !== entry[0]).with(at, entry);
  }
  delete(...args: [name?: unknown]): void {
    const name = nameOf(args);
    this.#entries = this.#entries.filter(([known]) => known !== name);
  }
  get(...args: [name?: unknown]): FormValue | null {
    const name = nameOf(args);
    return this.#entries.find(([known]) => known === name)?.[1] ?? null;
  }
  getAll(...args: [name?: unknown]): FormValue[] {
    const name = nameOf(args);
    return this.#entries.filter(([known]) => known === name).map(([, value]) => value);
  }
  has(...args: [name?: unknown]): boolean {
    const name = nameOf(args);
    return this.#entries.some(([known]) => known === name);
  }
  forEach(callback: (value: FormValue, name: string, form: FormData) => unknown, self?: unknown): void {
    for (const [name, value] of this) Reflect.apply(callback, self, [value, name, this]);
  }
  *entries(): Generator<[string, FormValue]> {
    for (let i = 0; i < this.#entries.length; i++) yield [...this.#entries[i]!];
  }
  *keys(): Generator<string> {
    for (const [name] of this.entries()) yield name;
  }
  *values(): Generator<FormValue> {
    for (const [, value] of this.entries()) yield value;
  }
  declare [Symbol.iterator]: () => Generator<[string, FormValue]>;
}
define(FormData.prototype, Symbol.iterator, FormData.prototype.entries);
define(FormData.prototype, Symbol.toStringTag, 'FormData');

function nameOf(args: readonly unknown[]): string {
  if (args.length === 0) throw new TypeError('FormData: the name is needed');
  return String(args[0]).toWellFormed();
}

function entryOf(args: readonly [name?: unknown, value?: unknown, filename?: unknown]): [string, FormValue] {
  if (args.length < 2) throw new TypeError('FormData: a name and a value are needed');
  const [, value, filename] = args;
  const key = nameOf(args);
  if (!(value instanceof Blob)) {
    if (filename !== undefined) throw new TypeError('FormData: only a Blob has a file name');
    return [key, String(value).toWellFormed()];
  }
  if (value instanceof File && filename === undefined) return [key, value];
  const file = new File([blobBytes(value)], filename === undefined ? 'blob' : String(filename), {type: value.type});
  return [key, file];
}
