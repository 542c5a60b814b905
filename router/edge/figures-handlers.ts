/** The routes of figures over time, which the supervisor answers. */
import {ServiceError} from '../../shared/errors.ts';
import type {FiguresRequest} from '../../shared/ipc/overview.ts';
import {FIGURE_STEP_SECONDS_MIN, FIGURES_SECONDS_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {numberIn} from '../auth/audited.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';

export type FiguresOperation = Extract<RouterOperation, `figures.${string}`>;

const RANGE_DEFAULT_MS = 60 * 60 * 1_000;

/** @param query the query string; `tenantId` of the exchange: empty for the server */
export async function showFigures(
  control: ControlChannel,
  exchange: Exchange,
  operation: FiguresOperation,
  query: string,
): Promise<void> {
  const tenant = operation === 'figures.server' ? null : exchange.tenantId;
  const of = operation === 'figures.functions' ? 'functions' : 'requests';
  const found = await control.status({action: 'figures', tenant, of, range: figuresRequest(query, Date.now())});
  exchange.reply(ROUTER_OPERATIONS[operation].success, JSON.stringify(found));
}

/** Parses the query string. @throws op.invalid_input 400 */
export function figuresRequest(query: string, nowMs: number): FiguresRequest {
  const parameters = new URLSearchParams(query);
  const toMs = numberIn(parameters, 'to') ?? nowMs;
  const fromMs = numberIn(parameters, 'from') ?? Math.max(0, toMs - RANGE_DEFAULT_MS);
  const stepSeconds = numberIn(parameters, 'step') ?? FIGURE_STEP_SECONDS_MIN;
  if (fromMs > toMs) throw new ServiceError('op.invalid_input', 'from must not be after to');
  if (toMs - fromMs > FIGURES_SECONDS_MAX * 1_000) {
    throw new ServiceError('op.invalid_input', `from must be at most ${FIGURES_SECONDS_MAX / 3_600} hours before to`);
  }
  if (stepSeconds < FIGURE_STEP_SECONDS_MIN || stepSeconds % FIGURE_STEP_SECONDS_MIN !== 0) {
    throw new ServiceError('op.invalid_input', `step must be a multiple of ${FIGURE_STEP_SECONDS_MIN} seconds`);
  }
  return {fromMs, toMs, stepSeconds, name: parameters.get('function')};
}
