/** Times, durations, bytes and counts as text: times local, with UTC on hover. */
import {useSyncExternalStore} from 'react';

const LOCAL = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const RELATIVE = new Intl.RelativeTimeFormat(undefined, {numeric: 'auto', style: 'short'});
const COUNT = new Intl.NumberFormat();
const SMALL = new Intl.NumberFormat(undefined, {maximumFractionDigits: 1});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  [DAY, 'day'],
  [HOUR, 'hour'],
  [MINUTE, 'minute'],
  [SECOND, 'second'],
] as const;

/** One clock for all relative times on a page. */
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, 5 * SECOND);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function relative(ms: number): string {
  const [size, unit] = STEPS.find(([step]) => Math.abs(ms) >= step) ?? STEPS[3];
  return RELATIVE.format(Math.round(ms / size), unit);
}

/** @param form `relative`: 3 min ago; `clock`: 12:00:01; `full`: with the date */
export function Time({at, form = 'relative'}: {at: number; form?: 'relative' | 'clock' | 'full'}) {
  const current = useSyncExternalStore(subscribe, () => now);
  const date = new Date(at);
  const text =
    form === 'full'
      ? LOCAL.format(date)
      : form === 'clock'
        ? CLOCK.format(date)
        : relative(at - Math.max(current, now, Math.min(at, Date.now())));
  return (
    <time dateTime={date.toISOString()} title={`${LOCAL.format(date)}\n${date.toISOString()}`}>
      {text}
    </time>
  );
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${SMALL.format(bytes / 1024 ** step)} ${UNITS[step]}`;
}

export function Bytes({value}: {value: number}) {
  return <span title={`${COUNT.format(value)} bytes`}>{bytesText(value)}</span>;
}

export function countText(count: number): string {
  return COUNT.format(count);
}

/** `1 tenant`, `2 tenants`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${COUNT.format(count)} ${count === 1 ? one : many}`;
}

export function durationText(ms: number): string {
  if (ms < SECOND) return `${SMALL.format(ms)} ms`;
  if (ms < MINUTE) return `${SMALL.format(ms / SECOND)} s`;
  if (ms < HOUR) return `${SMALL.format(ms / MINUTE)} min`;
  if (ms < DAY) return `${SMALL.format(ms / HOUR)} h`;
  return `${SMALL.format(ms / DAY)} days`;
}
