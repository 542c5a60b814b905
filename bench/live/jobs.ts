/** Many jobs due at one moment: how many run a second. */
import {setTimeout as delay} from 'node:timers/promises';
import type {JournalPage} from '../../shared/protocol/journal.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

export type JobCosts = {jobs: number; perS: number};

const AT_ONCE = 64;
const POLL_MS = 10;
/** Long enough to schedule all of them, on a busy machine too: those that run before are not measured. */
const RUN_AFTER_MS = 8_000;

/** Jobs that each insert a document. */
export async function measureJobs(svc: SvcPeer, tenant: string, jobs: number): Promise<JobCosts> {
  await svc.client.createTenant(tenant);
  const path = `/api/tenants/${tenant}/schedule`;
  const dueMs = Date.now() + RUN_AFTER_MS;
  let next = 0;
  const schedule = async (): Promise<void> => {
    while (next < jobs) {
      const fields = {n: next++};
      await svc.client.json('POST', path, {
        run_after_ms: Math.max(0, dueMs - Date.now()),
        mutation: {type: 'insert', table: 't', fields},
      });
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, schedule));
  if ((await latestSequence(svc, tenant)) > jobs) throw new Error('jobs have run before all were scheduled');
  const startedMs = Math.max(Date.now(), dueMs);
  // Scheduling a job is one record of the journal, running it another.
  while ((await latestSequence(svc, tenant)) < 2 * jobs) await delay(POLL_MS);
  return {jobs, perS: jobs / (Math.max(1, Date.now() - startedMs) / 1000)};
}

async function latestSequence(svc: SvcPeer, tenant: string): Promise<number> {
  const page = await svc.client.json<JournalPage>('GET', `/api/tenants/${tenant}/journal?limit=1`);
  return page.latest_sequence;
}
