/** `FormData`: an ordered list of names and values, each a string or a file. */
import {define} from '../define.ts';
import {Blob, blobBytes, File} from './blob.ts';

export type FormValue = string | File;

export class FormData {
  #entries: [string, FormValue][] = [];

  constructor(form?: unknown) {
    if (form !== undefined) throw new TypeError('FormData: there are no form elements here');
  }

  append(name: unknown, value: unknown, filename?: unknown): void {
    this.#entries.push(entryOf(name, value, filename));
  }
  set(name: unknown, value: unknown, filename?: unknown): void {
    const entry = entryOf(name, value, filename);
    const at = this.#entries.findIndex(([known]) => known === entry[0]);
    if (at === -1) this.#entries.push(entry);
    else this.#entries = this.#entries.filter(([known], i) => i <= at || known !== entry[0]).with(at, entry);
  }
  delete(name: unknown): void {
    this.#entries = this.#entries.filter(([known]) => known !== String(name));
  }
  get(name: unknown): FormValue | null {
    return this.#entries.find(([known]) => known === String(name))?.[1] ?? null;
  }
  getAll(name: unknown): FormValue[] {
    return this.#entries.filter(([known]) => known === String(name)).map(([, value]) => value);
  }
  has(name: unknown): boolean {
    return this.#entries.some(([known]) => known === String(name));
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
  [Symbol.iterator](): Generator<[string, FormValue]> {
    return this.entries();
  }
}
define(FormData.prototype, Symbol.toStringTag, 'FormData');

function entryOf(name: unknown, value: unknown, filename: unknown): [string, FormValue] {
  const key = String(name).toWellFormed();
  if (!(value instanceof Blob)) {
    if (filename !== undefined) throw new TypeError('FormData: only a Blob has a file name');
    return [key, String(value).toWellFormed()];
  }
  if (value instanceof File && filename === undefined) return [key, value];
  const file = new File([blobBytes(value)], filename === undefined ? 'blob' : String(filename), {type: value.type});
  return [key, file];
}
