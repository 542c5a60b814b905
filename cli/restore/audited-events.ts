/** Deploys and bulk tasks of a tenant, from the audit log that a repository has. No copy of the tenant is read for it. */
import {existsSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryError} from '../../copies/repository/repository-error.ts';
import type {TenantEvent} from '../../copies/restore/file-contents.ts';
import {withScratch} from './scratch.ts';
import {AUDIT_FILE, fetchServerState} from './server-state.ts';

type Intent = {sequence: number; at: number; operation: string; subject: string; by: string};
type Subject = {deployment_id?: string; type?: string; table?: string};

/** By time; none if the audit log is missing or cannot be read. @throws StoreError */
export function auditedEvents(repository: Repository, tenant: string): Promise<TenantEvent[]> {
  return withScratch(tmpdir(), async scratch => {
    const directory = join(scratch, 'state');
    try {
      await fetchServerState(repository, directory, [AUDIT_FILE]);
      const path = join(directory, AUDIT_FILE);
      return existsSync(path) ? eventsIn(path, tenant) : [];
    } catch (caught) {
      if (caught instanceof RepositoryError || caught instanceof Database.SqliteError) return [];
      throw caught;
    }
  });
}

function eventsIn(path: string, tenant: string): TenantEvent[] {
  const db = new Database(path, {readonly: true});
  try {
    const statuses = db.prepare<[], [of: number, status: number | null]>(
      "SELECT record ->> 'of', record ->> 'status' FROM records WHERE record ->> 'kind' = 'outcome'",
    );
    const statusOf = new Map(statuses.raw().all());
    const intents = db.prepare<[string], Intent>(
      `SELECT sequence, record ->> 'at' AS at, record ->> 'operation' AS operation, record ->> 'subject' AS subject,
              record ->> 'key_name' AS by
       FROM records
       WHERE record ->> 'kind' = 'intent' AND record ->> 'tenant' = ?
         AND record ->> 'operation' IN ('deployments.create', 'deployments.activate', 'tasks.create')
       ORDER BY sequence`,
    );
    return intents.all(tenant).flatMap(intent => eventOf(intent, statusOf.get(intent.sequence) ?? null) ?? []);
  } finally {
    db.close();
  }
}

/** Null: it was refused, or was a dry run. @param status null: it is not known */
function eventOf({at: timeMs, operation, subject, by}: Intent, status: number | null): TenantEvent | null {
  const {deployment_id: id = '', type, table} = JSON.parse(subject) as Subject;
  if (status !== null && (status >= 400 || (operation === 'deployments.create' && status === 200))) return null;
  if (operation === 'tasks.create') return {timeMs, kind: 'task', id, text: `${type} in ${table} by ${by}`};
  return {timeMs, kind: 'deploy', id, text: operation === 'deployments.create' ? `by ${by}` : `activated by ${by}`};
}
