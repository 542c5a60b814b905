/** `Date`, and the Intl formats that default to now, on the realm's clock. */
import {nowMs} from './clock.ts';
import {define} from './define.ts';

export function installDate(): void {
  const RealDate = Date;

  function RealmDate(...args: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(nowMs()).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [nowMs()] : args, new.target as unknown as DateConstructor);
  }
  Object.defineProperty(RealmDate, 'name', {value: 'Date'});
  Object.defineProperty(RealmDate, 'length', {value: 7});
  Object.defineProperty(RealmDate, 'prototype', {value: RealDate.prototype, writable: false});
  define(RealmDate, 'now', {now: () => nowMs()}.now);
  define(RealmDate, 'parse', RealDate.parse);
  define(RealmDate, 'UTC', RealDate.UTC);
  define(RealDate.prototype, 'constructor', RealmDate);
  define(globalThis, 'Date', RealmDate);
  installFormats();
}

/** Without a date, `format()` and `formatToParts()` would read V8's clock. */
function installFormats(): void {
  const {prototype} = Intl.DateTimeFormat;
  const formatOf = Object.getOwnPropertyDescriptor(prototype, 'format')!.get!;
  const bound = new WeakMap<object, (date?: unknown) => string>();
  Object.defineProperty(prototype, 'format', {
    configurable: true,
    enumerable: false,
    get(this: Intl.DateTimeFormat) {
      const original = formatOf.call(this) as (date: unknown) => string;
      let format = bound.get(original);
      if (format === undefined) {
        format = (date?: unknown) => original(date === undefined ? nowMs() : date);
        bound.set(original, format);
      }
      return format;
    },
  });
  const {formatToParts} = prototype;
  define(prototype, 'formatToParts', function (this: Intl.DateTimeFormat, date?: Date | number) {
    return formatToParts.call(this, date === undefined ? nowMs() : date);
  });
}
