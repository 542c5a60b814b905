/** Tasks of a tenant, as its API shows them. */
import type {Task} from '../../shared/protocol/tasks.ts';
import type {Tenant} from './tenant.ts';
import {until} from './until.ts';

/** Null: it is not known, or nobody answers at the moment. */
export async function taskOf(tenant: Tenant, id: string): Promise<Task | null> {
  const reply = await tenant.request('GET', `/tasks/${id}`).catch(() => null);
  return reply?.status === 200 ? (reply.body as {task: Task}).task : null;
}

/** As it is when it has ended, whatever happens to its worker meanwhile. */
export function endedTask(tenant: Tenant, id: string): Promise<Task> {
  return until('the task to end', async () => {
    const task = await taskOf(tenant, id);
    return task === null || task.state === 'running' ? null : task;
  });
}
