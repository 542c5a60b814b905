/**
 * Signs and checks grants, which prove that an operator has set a tenant's new egress policy. A router issues one for
 * the body of a request with an admin credential. The worker, which is not trusted here, passes both to the supervisor,
 * which holds the policy. The key is generated at each start of the server; only routers and the supervisor know it.
 */
import {createHmac, timingSafeEqual} from 'node:crypto';

/** @param body of the request, byte for byte */
export function signedGrantOf(key: string, tenant: string, body: Uint8Array | string): string {
  return createHmac('sha256', key).update(`${tenant}\n`).update(body).digest('hex');
}

export function isGranted(key: string, tenant: string, body: string, signedGrant: string): boolean {
  const [said, right] = [Buffer.from(signedGrant), Buffer.from(signedGrantOf(key, tenant, body))];
  return said.length === right.length && timingSafeEqual(said, right);
}
