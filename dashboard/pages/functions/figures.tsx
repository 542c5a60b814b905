/** Calls, errors and times of each function in the last hours. */
import type {ReactNode} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {FIGURES_REFRESH_MS} from '../../limits.ts';
import {countText, durationText} from '../../parts/values.tsx';

export type FunctionFigure = Omit<AnswerOf<'figures.functions'>['functions'][number], 'name'>;

const HOUR_MS = 3_600_000;
const NONE: FunctionFigure = {calls: 0, errors: 0, error_rate: 0, p50_ms: null, p99_ms: null};

/** @returns the figures of a function; null: they may not be seen, or are not there yet */
export function useFunctionFigures(tenant: string, hours: number): (path: string) => FunctionFigure | null {
  const isAllowed = useMay()('figures.functions');
  // Whole minutes, so that pages opened in the same minute share an answer.
  const from = Math.floor(Date.now() / 60_000) * 60_000 - hours * HOUR_MS;
  const input = {tenant, query: {step: hours * 60, from}};
  const {data} = useOperation('figures.functions', input, {every: FIGURES_REFRESH_MS, enabled: isAllowed, keep: true});
  const byName = new Map(data?.functions.map(({name, ...figure}) => [name, figure]));
  return path => (data === undefined ? null : (byName.get(path) ?? NONE));
}

export function quantileText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms);
}

export function figureFacts({calls, errors, p50_ms, p99_ms}: FunctionFigure): [name: string, value: ReactNode][] {
  return [
    ['Calls', countText(calls)],
    ['Errors', countText(errors)],
    ['p50', quantileText(p50_ms)],
    ['p99', quantileText(p99_ms)],
  ];
}
