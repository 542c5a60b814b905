/**
 * An operator's word that this is a tenant's new egress policy. A router gives it to the body of a request with an admin
 * credential; the worker, which nobody believes in this, hands both on to the supervisor, who holds the policy. The key is made
 * anew with each start of the server and known to routers and supervisor alone.
 */
import {createHmac, timingSafeEqual} from 'node:crypto';

/** @param body of the request, as it came */
export function voucherOf(key: string, tenant: string, body: Uint8Array | string): string {
  return createHmac('sha256', key).update(`${tenant}\n`).update(body).digest('hex');
}

export function isVouchedFor(key: string, tenant: string, body: string, voucher: string): boolean {
  const [said, right] = [Buffer.from(voucher), Buffer.from(voucherOf(key, tenant, body))];
  return said.length === right.length && timingSafeEqual(said, right);
}
