/**
 * The same service with two routers on its port: what one more costs of processor time for each request, and, on a machine that
 * has cores to spare, how much more goes through. Its rows stand beside those of the service with one.
 */
import type {Row} from '../../rows.ts';
import {type SvcRequests, seedTenant} from './seed.ts';
import {type SvcPeer, startSvc} from './start.ts';

export type TwoRouters = {svc: SvcPeer; requests: SvcRequests};

export async function startTwoRouters(data: string): Promise<TwoRouters> {
  const svc = await startSvc(data, ['--routers', '2']);
  return {svc, requests: await seedTenant(svc, 't0')};
}

export function twoRoutersRow(workload: 'get' | 'insert', {what, durability}: Pick<Row, 'what' | 'durability'>): Row {
  return {name: `2-routers ${workload}`, what: `${what}; two routers`, durability};
}
