/** Times as values of options. */
import {InvalidArgumentError} from 'commander';

const AGO_UNITS_MS = {s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;

/** Epoch milliseconds. */
export function moment(text: string): number {
  const ago = /^(\d{1,9})([smhd])$/.exec(text);
  const ms =
    ago === null ? Date.parse(text) : Date.now() - Number(ago[1]) * AGO_UNITS_MS[ago[2] as keyof typeof AGO_UNITS_MS];
  if (Number.isFinite(ms)) return Math.max(0, Math.floor(ms));
  throw new InvalidArgumentError('It must be like 90s, 20m, 2h or 3d, which is so long ago, or 2026-01-31T12:00:00Z.');
}
