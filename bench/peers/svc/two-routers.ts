/**
 * The same service with two routers on its port: what one more costs of processor time for each request, and, on a machine that
 * has cores to spare, how much more goes through. Its rows stand beside those of the service with one, of as many tenants.
 */
import type {Row} from '../../rows.ts';
import {type SvcRequests, seedTenant} from './seed.ts';
import {type SvcPeer, startSvc} from './start.ts';

export type TwoRouters = {svc: SvcPeer; requests: SvcRequests[]};

export async function startTwoRouters(data: string, tenants: number): Promise<TwoRouters> {
  const svc = await startSvc(data, ['--routers', '2']);
  const requests: SvcRequests[] = [];
  for (let i = 0; i < tenants; i++) requests.push(await seedTenant(svc, `t${i}`));
  return {svc, requests};
}

export function twoRoutersRow(workload: 'get' | 'insert', {what, durability}: Pick<Row, 'what' | 'durability'>): Row {
  return {name: `2-routers ${workload} 8 tenants`, what: `${what}; two routers`, durability};
}
