/** Numbers, times, sizes and paths as values of options; the error for a wrong one is a sentence. */
import {resolve} from 'node:path';
import {InvalidArgumentError} from 'commander';

const MINUTE_MS = 60_000;
const DURATION_UNITS_MS = {ms: 1, s: 1_000, m: MINUTE_MS, h: 60 * MINUTE_MS} as const;
/** A year: a longer duration is a typing mistake. */
const DURATION_MS_MAX = 365 * 24 * 60 * MINUTE_MS;
const SIZE_POWERS = {m: 2, g: 3, t: 4} as const;
const AGO_UNITS_MS = {s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;

/** Epoch milliseconds. */
export function moment(text: string): number {
  const ago = /^(\d{1,9})([smhd])$/.exec(text);
  const ms =
    ago === null ? Date.parse(text) : Date.now() - Number(ago[1]) * AGO_UNITS_MS[ago[2] as keyof typeof AGO_UNITS_MS];
  if (Number.isFinite(ms)) return Math.max(0, Math.floor(ms));
  throw new InvalidArgumentError('It must be like 90s, 20m, 2h or 3d, which is so long ago, or 2026-01-31T12:00:00Z.');
}

export function integer(least: number, most: number): (text: string) => number {
  return text => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range =
      most === Number.MAX_SAFE_INTEGER ? `an integer from ${least} on` : `an integer from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be ${range}.`);
  };
}

/** Milliseconds. */
export function duration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  if (text === '0') return 0;
  const valueMs =
    match === null ? Number.NaN : Number(match[1]) * DURATION_UNITS_MS[match[2] as keyof typeof DURATION_UNITS_MS];
  if (valueMs === 0 || (valueMs >= 1 && valueMs <= DURATION_MS_MAX)) return Math.round(valueMs);
  throw new InvalidArgumentError('It must be a number with its unit, as 500ms, 300s, 5m or 1h, or 0 for never.');
}

/** Bytes. */
export function size(text: string): number {
  const match = /^(\d+)([mgt])$/i.exec(text);
  if (text === '0') return 0;
  const bytes = match === null ? 0 : Number(match[1]) * 1024 ** SIZE_POWERS[match[2]!.toLowerCase() as 'm'];
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError('It must be an integer with its unit, as 512m, 10g or 1t, or 0 for no limit.');
}

/** Absolute. */
export function path(text: string): string {
  if (text !== '') return resolve(text);
  throw new InvalidArgumentError('It must be the path of a file.');
}

/** The flag alone means yes; the variable needs an explicit value, because `=0` as a yes would surprise. */
export function yesOrNo(text: string): boolean {
  if (['1', 'true', 'yes'].includes(text)) return true;
  if (['0', 'false', 'no', ''].includes(text)) return false;
  throw new InvalidArgumentError('It must be 1 or 0.');
}

/** `--idle-stop` becomes SVC_IDLE_STOP. */
export function variableOf(flag: string): string {
  return `SVC_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`;
}
