/**
 * Parses the settings of `svc start` that control who can connect, and from where; the error for a wrong value is a
 * sentence.
 */
import {InvalidArgumentError} from 'commander';
import {parseRange} from '../shared/address-range.ts';
import {parseAddress} from '../shared/egress/address.ts';
import type {RateLimit} from '../shared/rate-limit.ts';
import {RATE_LIMIT_BURST_MAX, RATE_LIMIT_PER_SECOND_MAX, RATE_LIMIT_PER_SECOND_MIN} from './limits.ts';

/**
 * Origins of apps in a native shell (`capacitor://localhost`, `tauri://localhost`): URL has no origin for these
 * schemes.
 */
const OTHER_SCHEME = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(?::\d{1,5})?$/;

/** Exactly as browsers write them, because they are compared as text: one that can never match would only surprise. */
export function allowedOrigins(text: string, previous: string[]): string[] {
  const origins = text.split(',').map(origin => origin.trim());
  for (const origin of origins) {
    if (origin === '*') {
      throw new InvalidArgumentError(
        'Any page could then use what its visitor has of this server: name each origin, as https://app.example.com.',
      );
    }
    const right = asBrowsersWriteIt(origin);
    if (right === origin) continue;
    const wanted = right === null ? 'as https://app.example.com or http://localhost:5173' : `as browsers do: ${right}`;
    throw new InvalidArgumentError(`It must be an origin written ${wanted}; several with commas between.`);
  }
  return [...previous, ...origins];
}

/** Its host gets no other request: tenants' pages must not share its origin. */
export function dashboardOrigin(text: string): string {
  const right = asBrowsersWriteIt(text);
  if (right === text && /^https?:/.test(text)) return text;
  const wanted = right === null ? 'as https://svc-admin.example.com' : `as browsers do: ${right}`;
  throw new InvalidArgumentError(`It must be an origin written ${wanted}.`);
}

export function trustedProxies(text: string, previous: string[]): string[] {
  const ranges = text.split(',').map(range => range.trim());
  for (const range of ranges) {
    const bits = parseRange(range)?.bits ?? (parseAddress(range) === null ? null : 1);
    if (bits === null) {
      throw new InvalidArgumentError(
        'It must be an address or a range, as 127.0.0.1, ::1 or 10.0.0.0/8; several with commas between.',
      );
    }
    if (bits === 0) throw new InvalidArgumentError('Every client could then claim any address: name the proxies.');
  }
  return [...previous, ...ranges];
}

/** The burst is twice the rate by default: clients send several requests when a page opens. */
export function rateLimit(text: string): RateLimit {
  const [, rate = '', atOnce] = /^(\d+(?:\.\d+)?)(?::(\d+))?$/.exec(text) ?? [];
  const requests_per_second = Number(rate);
  const burst = atOnce === undefined ? Math.max(1, Math.ceil(2 * requests_per_second)) : Number(atOnce);
  if (
    requests_per_second >= RATE_LIMIT_PER_SECOND_MIN &&
    requests_per_second <= RATE_LIMIT_PER_SECOND_MAX &&
    burst >= 1 &&
    burst <= RATE_LIMIT_BURST_MAX
  ) {
    return {requests_per_second, burst};
  }
  throw new InvalidArgumentError(
    'It must be requests a second, as 50 or 0.5, and after a colon how many may come at once, as 50:200.',
  );
}

/**
 * Null if there is no such origin. `null`, which sandboxed pages and files send, is refused because it identifies no
 * page.
 */
function asBrowsersWriteIt(origin: string): string | null {
  if (!/^https?:/i.test(origin)) return OTHER_SCHEME.test(origin) ? origin : null;
  if (!URL.canParse(origin)) return null;
  const {origin: written, hostname} = new URL(origin);
  return hostname === '' || hostname.includes('*') ? null : written;
}
