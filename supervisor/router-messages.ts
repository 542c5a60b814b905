/** What routers report: who takes it. */
import {unreachable} from '../shared/assert.ts';
import type {TenantsTraffic} from './figures/tenant-traffic.ts';
import type {AuditLog} from './keys/audit-log.ts';
import type {Keys} from './keys/keys.ts';
import type {RefusalLog} from './keys/refusal-log.ts';
import type {Sessions} from './keys/sessions.ts';
import type {RouterMessage} from './processes/router-process.ts';
import type {Placement} from './tenants/placement.ts';

export type RouterReceivers = {
  placement: Placement;
  audit: AuditLog;
  refusals: RefusalLog;
  traffic: TenantsTraffic;
  keys: Keys;
  sessions: Sessions;
  answer: (place: number, message: RouterMessage & {type: 'request'}) => void;
};

/** @param place of the router */
export function receivedFromRouter(
  {placement, audit, refusals, traffic, keys, sessions, answer}: RouterReceivers,
  place: number,
  message: RouterMessage,
): void {
  switch (message.type) {
    case 'wake':
      placement.wake(message.tenant, place, message.forCode, message.forPeer);
      return;
    case 'given_up':
      placement.givenUp(message.tenant, place);
      return;
    case 'released':
      placement.released(message.tenant, place, message.busy);
      return;
    case 'link_lost':
      placement.linkLost(message.tenant, place, message.worker, message.calls);
      return;
    case 'link_malformed':
      placement.linkMalformed(message.tenant, message.worker, message.why);
      return;
    case 'call_answered':
      placement.callAnswered(message.tenant, message.key);
      return;
    case 'activity':
      placement.activity(message.active);
      placement.activity(message.busy);
      return;
    case 'audit_outcome':
      audit.outcome(message);
      return;
    case 'refused':
      refusals.add(message.refused);
      return;
    case 'traffic':
      traffic.add(
        place,
        message.reports.filter(({tenant}) => placement.isServed(tenant)),
      );
      return;
    case 'keys_used':
      keys.used(message.keys);
      sessions.used(message.keys);
      return;
    case 'request':
      answer(place, message);
      return;
    default:
      unreachable(message);
  }
}
