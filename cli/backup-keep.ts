/** Which points of a repository stay: numbers of the newest ones, and of the last ones of hours, days, weeks and months. */
import {InvalidArgumentError} from 'commander';
import type {KeepPolicy} from '../shared/ipc/copier.ts';

const NAMES = ['last', 'hourly', 'daily', 'weekly', 'monthly'] as const;

/** `last=100,hourly=24` */
export function backupKeep(text: string): KeepPolicy {
  const parts = text.split(',').map(part => part.trim().split('='));
  const names = parts.map(([name]) => NAMES.find(one => one === name));
  const isEach = parts.every(part => part.length === 2) && names.every(name => name !== undefined);
  if (!isEach || new Set(names).size < names.length) {
    throw new InvalidArgumentError(`It must be a list such as last=100,hourly=24,daily=30, of ${NAMES.join(', ')}.`);
  }
  return Object.fromEntries(parts.map(([name, number]) => [name, keepCount(number!)]));
}

export function keepCount(text: string): number {
  const n = Number(text);
  if (/^\d{1,6}$/.test(text) && n > 0) return n;
  throw new InvalidArgumentError('It must be a number from 1 to 999999.');
}
