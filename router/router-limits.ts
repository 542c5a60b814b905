/**
 * The share of the service's limits that one router can use. A limit applies to the whole service: each router has an
 * equal share, so that together they stay within it without coordination. A share is always large enough for one
 * request of any size.
 */

import type {ReservedTotal} from '../shared/byte-accounts.ts';
import {BODY_BYTES_MAX} from '../shared/limits.ts';
import {
  AUTH_FAILURE_EARNED_MS,
  AUTH_FAILURES_AT_ONCE,
  AUTH_FAILURES_DELAYED_MAX,
  CACHED_ANSWERS_BYTES_MAX,
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
  FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX,
  IN_FLIGHT_BYTES_MAX,
  IN_FLIGHT_REQUESTS_MAX,
  LINK_BUFFER_BYTES_MAX,
  ROUTER_RESERVED_BYTES_MAX,
  SOCKETS_BUFFERED_BYTES_MAX,
  SOCKETS_MAX,
  TENANT_RESERVED_BYTES_MAX,
  TENANT_SHARE_BYTES,
  UNSENT_REPLY_BYTES_MAX,
  WAITING_BYTES_MAX,
  WAITING_REQUESTS_MAX,
} from './limits.ts';

export type RouterLimits = {
  reservedBytes: number;
  tenantReservedBytes: number;
  /** For one waking tenant. */
  waitingRequests: number;
  waitingBytes: number;
  /** For one worker. */
  inFlightRequests: number;
  inFlightBytes: number;
  linkBufferBytes: number;
  unsentReplyBytes: number;
  sockets: number;
  socketsBufferedBytes: number;
  /** For one tenant. */
  functionSocketsUnhandledBytes: number;
  authFailuresAtOnce: number;
  authFailureEarnedMs: number;
  authFailuresDelayed: number;
  cachedAnswersBytes: number;
};

/** @param routers number of routers that share the port, 1 to ROUTERS_MAX */
export function limitsOfOne(routers: number): RouterLimits {
  const share = (of: number) => Math.floor(of / routers);
  return {
    reservedBytes: share(ROUTER_RESERVED_BYTES_MAX),
    tenantReservedBytes: share(TENANT_RESERVED_BYTES_MAX),
    waitingRequests: share(WAITING_REQUESTS_MAX),
    // Waiting bytes also count among the held bytes, which bound the sum if one body exceeds a share.
    waitingBytes: Math.max(BODY_BYTES_MAX, share(WAITING_BYTES_MAX)),
    inFlightRequests: share(IN_FLIGHT_REQUESTS_MAX),
    inFlightBytes: share(IN_FLIGHT_BYTES_MAX),
    linkBufferBytes: share(LINK_BUFFER_BYTES_MAX),
    unsentReplyBytes: share(UNSENT_REPLY_BYTES_MAX),
    sockets: share(SOCKETS_MAX),
    socketsBufferedBytes: share(SOCKETS_BUFFERED_BYTES_MAX),
    functionSocketsUnhandledBytes: Math.max(
      FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
      share(FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX),
    ),
    authFailuresAtOnce: share(AUTH_FAILURES_AT_ONCE),
    authFailureEarnedMs: AUTH_FAILURE_EARNED_MS * routers,
    authFailuresDelayed: share(AUTH_FAILURES_DELAYED_MAX),
    cachedAnswersBytes: share(CACHED_ANSWERS_BYTES_MAX),
  };
}

/** The account of the bytes that a router holds for all tenants. */
export function reservedTotal({reservedBytes, tenantReservedBytes}: RouterLimits): ReservedTotal {
  return {reserved: 0, max: reservedBytes, tenantMax: tenantReservedBytes, tenantShare: TENANT_SHARE_BYTES};
}
