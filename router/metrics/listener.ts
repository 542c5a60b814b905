/**
 * The metrics page on a separate port, loopback only and without a credential: for a Prometheus on the same machine.
 */
import type {HttpRequest, HttpResponse, TemplatedApp} from 'uWebSockets.js';
import {BufferedBytes} from '../../shared/byte-accounts.ts';
import {asServiceError, notFound, ServiceError} from '../../shared/errors.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import {type OriginRule, pageHeaders} from '../http/origin.ts';
import {RequestIds} from '../http/reply-head.ts';
import {UNSENT_REPLY_BYTES_MAX} from '../limits.ts';

export const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';
/** Scrapes are not counted as traffic. */
const UNOBSERVED: ExchangeObserver = {
  unsent: new BufferedBytes(UNSENT_REPLY_BYTES_MAX),
  began: () => undefined,
  ended: () => undefined,
};

/** @param render returns the page */
export function mountMetrics(
  app: TemplatedApp,
  render: () => Promise<string>,
  originRule: OriginRule,
  onBug: (error: unknown) => void,
): void {
  const requestIds = new RequestIds();
  app.any('/*', (res: HttpResponse, req: HttpRequest) => {
    const method = req.getCaseSensitiveMethod();
    const exchange = new Exchange(res, method, requestIds.next(req.getHeader('x-request-id')), false, UNOBSERVED);
    const fail = (caught: unknown) => {
      if (!(caught instanceof ServiceError)) onBug(caught);
      exchange.fail(asServiceError(caught));
    };
    exchange.handled();
    try {
      exchange.edgeHeaders = pageHeaders(originRule.check(req, req.getHeader('host')));
      if (req.getUrl() !== '/metrics') throw notFound('this port serves /metrics only');
      if (method !== 'GET' && method !== 'HEAD') {
        throw new ServiceError('op.method_not_allowed', 'this path takes GET, HEAD');
      }
    } catch (caught) {
      fail(caught);
      return;
    }
    render()
      .then(text => exchange.reply(200, text, null, PROMETHEUS_TEXT))
      .catch(fail);
  });
}
