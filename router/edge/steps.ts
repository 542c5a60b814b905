/** Steps of a request that the intake and the router's own answers share: its body, its record, its failure. */
import type {HttpRequest} from 'uWebSockets.js';
import {AssertionError} from '../../shared/assert.ts';
import {asServiceError, ServiceError, unavailable} from '../../shared/errors.ts';
import {auditedAction} from '../auth/audited.ts';
import {type FailedCredentials, RATE_LIMIT_RETRY_S, tooManyFailures} from '../auth/failed-credentials.ts';
import {noteRefusal} from '../auth/refusal.ts';
import {keyEnded} from '../auth/rights.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import type {ShippedRequest} from '../http/shipped-files.ts';
import type {Allowance} from '../rates/rate-limits.ts';

export type StepParts = {
  failedCredentials: FailedCredentials;
  control: ControlChannel;
  /** Called for a failure that the client did not cause. */
  onBug: (exchange: Exchange, error: unknown) => void;
};

/** The outcome of an action whose client disconnected before the action began. */
const NOT_BEGUN = 'not_begun';

export class Steps {
  readonly #parts: StepParts;

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  /**
   * Calls `then` when the whole body has arrived, unless `answers` has answered it. Both may throw.
   * @param answers gets the body without a copy, and returns whether it answered
   */
  readBody(
    exchange: Exchange,
    req: HttpRequest,
    then: () => void,
    answers: ((body: Uint8Array) => boolean) | null = null,
  ): void {
    refuseEncoding(req);
    this.collectBody(exchange, then, answers);
  }

  collectBody(exchange: Exchange, then: () => void, answers: ((body: Uint8Array) => boolean) | null = null): void {
    // The key may have been revoked or expired while the body arrived.
    const judge = () => {
      if (exchange.principal?.isValid(Date.now()) === false) throw keyEnded();
    };
    const answersOrFails = (body: Uint8Array): boolean => {
      try {
        judge();
        return answers!(body);
      } catch (caught) {
        this.fail(exchange, caught);
        return true;
      }
    };
    exchange.collectBody(
      () => {
        try {
          judge();
          then();
        } catch (caught) {
          this.fail(exchange, caught);
        }
      },
      answers === null ? null : answersOrFails,
    );
  }

  later(exchange: Exchange, act: () => Promise<void>): void {
    this.recorded(exchange, act).catch(caught => this.fail(exchange, caught));
  }

  /** Runs an operator's action after its audit record is on disk; without a record it does not run. */
  async recorded(exchange: Exchange, act: () => Promise<void>): Promise<void> {
    if (exchange.route!.rights.trace === 'audit') {
      const {control} = this.#parts;
      const sequence = await control.intent(auditedAction(exchange));
      if (exchange.aborted || exchange.hasBegun) {
        control.send({type: 'audit_outcome', of: sequence, status: null, code: NOT_BEGUN});
        return;
      }
      exchange.audited = sequence;
    }
    await act();
  }

  /**
   * Refuses a wrong credential: after too many of them from one address, answers are delayed.
   * @throws auth.unauthorized 401
   */
  refuseWrong(exchange: Exchange, message: string): void {
    const {failedCredentials} = this.#parts;
    if (!failedCredentials.failed(exchange.address)) throw new ServiceError('auth.unauthorized', message);
    exchange.ignoreBody();
    failedCredentials.delay(() => exchange.fail(tooManyFailures(), RATE_LIMIT_RETRY_S));
  }

  /**
   * Turns an error into an answer: a ServiceError into its envelope, anything else into op.failed, logged as a bug. A
   * failed assertion is not caught, because the router's state is wrong then: the process exits and is restarted.
   */
  fail(exchange: Exchange, caught: unknown): void {
    if (caught instanceof AssertionError) throw caught;
    if (!(caught instanceof ServiceError)) this.#parts.onBug(exchange, caught);
    const error = asServiceError(caught);
    if (exchange.audited === 0) noteRefusal(exchange, error.code);
    exchange.fail(error);
  }
}

/** Also removes exchanges that are over. */
export function keep(exchanges: Set<Exchange>, exchange: Exchange): void {
  for (const known of exchanges) if (known.isOver) exchanges.delete(known);
  exchanges.add(exchange);
}

/** @throws op.rate_limited 429 */
export function spend(exchange: Exchange, allowance: Allowance | null): void {
  if (allowance === null) return;
  const error = allowance.spend();
  exchange.edgeHeaders = [...(exchange.edgeHeaders ?? []), ...allowance.headers()];
  if (error !== null) throw error;
}

export function shippedRequest(req: HttpRequest): ShippedRequest {
  return {ifNoneMatch: req.getHeader('if-none-match'), acceptEncoding: req.getHeader('accept-encoding')};
}

export function stopping(): ServiceError {
  return unavailable('the server is stopping', {reason: 'draining'});
}

export function refuseEncoding(req: HttpRequest): void {
  const encoding = req.getHeader('content-encoding');
  if (encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new ServiceError('op.unsupported_media_type', 'bodies with a Content-Encoding are not taken; send it plain');
}
