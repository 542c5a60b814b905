/**
 * The rules of requests to the dashboard's API, in addition to its cookie. A page of another origin cannot satisfy them:
 * it cannot choose its `Origin` or `Sec-Fetch-Site`, and a browser sends a header of its choice only after a preflight,
 * which is refused.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import {originsOf} from '../http/origin.ts';

const READS = ['GET', 'HEAD'];

/** @param origin of the dashboard's pages. @throws auth.origin_forbidden 403 */
export function judgeCall(req: HttpRequest, method: string, origin: string): void {
  judgeOrigin(req, origin, READS.includes(method));
  if (req.getHeader('x-svc-dashboard') === '1') return;
  throw forbidden('this address is for the pages of the dashboard, which send X-Svc-Dashboard: 1; use /api elsewhere');
}

/** Browsers cannot add headers to an upgrade, but they always send its Origin. @throws auth.origin_forbidden 403 */
export function judgeUpgrade(req: HttpRequest, origin: string): void {
  judgeOrigin(req, origin, false);
}

/**
 * A link has neither header of ours nor, in most browsers, an Origin: its ticket shows that a page of the dashboard made
 * it. @throws auth.origin_forbidden 403; op.method_not_allowed 405
 */
export function judgeDownload(req: HttpRequest, method: string, origin: string): void {
  if (method !== 'GET') throw new ServiceError('op.method_not_allowed', 'a download takes GET');
  judgeOrigin(req, origin, true);
}

/** A service worker would see every request of the dashboard. @throws auth.origin_forbidden 403 */
export function refuseServiceWorker(req: HttpRequest): void {
  if (req.getHeader('service-worker') === '') return;
  throw forbidden('the dashboard has no service worker');
}

function judgeOrigin(req: HttpRequest, origin: string, mayBeMissing: boolean): void {
  const origins = originsOf(req);
  const isSame = origins.length === 1 ? origins[0] === origin : origins.length === 0 && mayBeMissing;
  if (!isSame) throw forbidden(`requests to the dashboard need the Origin ${origin}`);
  const site = req.getHeader('sec-fetch-site');
  if (site !== '' && site !== 'same-origin') throw forbidden('requests to the dashboard come from its own pages only');
}

function forbidden(message: string): ServiceError {
  return new ServiceError('auth.origin_forbidden', message);
}
