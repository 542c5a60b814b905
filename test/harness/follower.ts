/** A naive follower: what the bootstrap says, brought up to date by each record after it. It knows nothing of the service. */
import {unreachable} from '../../shared/assert.ts';
import type {JournalEvent, JournalRecord, JournalSchema} from '../../shared/protocol/journal.ts';
import type {Cron, PendingJob} from '../../shared/protocol/schedule.ts';
import {type Bootstrap, replay, type State} from './journal.ts';
import type {Tenant} from './tenant.ts';

type Deployment = {
  id: number;
  created_at: number;
  activated_at: number;
  active: boolean;
  message: string | null;
  hash: string;
};

/** All that a tenant holds and the journal carries, in a form that can be compared. */
export type Followed = {
  documents: State;
  schema: Record<string, JournalSchema>;
  jobs: PendingJob[];
  crons: Cron[];
  deployments: Deployment[];
  settings: object;
  environment: string[];
};

/** The state after `records`, which continue the snapshot. */
export function follow({snapshot}: Bootstrap, records: JournalRecord[]): Followed {
  const {tables} = snapshot.schema as {tables: Record<string, JournalSchema>};
  const follower = new Follower({
    schema: new Map(Object.entries(tables).map(([name, schema]) => [name, withoutState(schema)])),
    jobs: new Map(snapshot.jobs.map(job => [job.id, job])),
    crons: new Map(snapshot.crons.map(cron => [cron.name, cron])),
    deployments: new Map(snapshot.deployments.map(({files: _, ...shown}) => [shown.id, shown])),
    environment: new Set(snapshot.environment),
    settings: snapshot.settings,
  });
  for (const {events} of records) for (const event of events) follower.apply(event);
  return {documents: replay({snapshot}, records), ...follower.state};
}

/** The state as GET shows it. Tables that hold no documents are left out. */
export async function state(tenant: Tenant): Promise<Followed> {
  const get = async <T>(path: string): Promise<T> => (await tenant.request('GET', path)).body;
  const {tables} = await get<{tables: Record<string, JournalSchema>}>('/schema');
  const {tables: counted} = await get<{tables: {name: string; documents: number}[]}>('/tables');
  const documents: State = new Map();
  for (const {name, documents: count} of counted) if (count > 0) documents.set(name, await tenant.list(name));
  const {deployments} = await get<{deployments: (Deployment & {functions: number})[]}>('/deployments');
  return {
    documents,
    schema: Object.fromEntries(Object.entries(tables).map(([name, schema]) => [name, withoutState(schema)])),
    jobs: (await get<{jobs: PendingJob[]}>('/schedule')).jobs,
    crons: (await get<{crons: Cron[]}>('/crons')).crons,
    deployments: deployments.map(({functions: _, ...shown}) => shown).toReversed(),
    settings: await get('/settings'),
    environment: Object.keys((await get<{env: object}>('/env')).env),
  };
}

type Parts = {
  schema: Map<string, JournalSchema>;
  jobs: Map<string, PendingJob>;
  crons: Map<string, Cron>;
  deployments: Map<number, Deployment>;
  environment: Set<string>;
  settings: object;
};

class Follower {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get state(): Omit<Followed, 'documents'> {
    const {schema, jobs, crons, deployments, environment, settings} = this.#parts;
    return {
      schema: Object.fromEntries(schema),
      jobs: [...jobs.values()].sort((a, b) => a.run_at - b.run_at || (a.id < b.id ? -1 : 1)),
      crons: [...crons.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
      deployments: [...deployments.values()].sort((a, b) => a.id - b.id),
      environment: [...environment].sort(),
      settings,
    };
  }

  apply(event: JournalEvent): void {
    const {schema, jobs, crons, deployments, environment} = this.#parts;
    switch (event.type) {
      case 'document.inserted':
      case 'document.updated':
      case 'document.deleted':
        return; // the record's writes say it
      case 'schema.set':
        schema.set(event.table, event.schema);
        return;
      case 'schema.deleted':
        take(schema, event.table);
        return;
      case 'table.renamed': {
        const {table, to} = event;
        const moved = schema.get(table);
        if (moved !== undefined) schema.set(to, {...moved, table: to});
        schema.delete(table);
        return;
      }
      case 'job.scheduled':
        jobs.set(event.id, event.job);
        return;
      case 'job.cancelled':
      case 'job.completed':
      case 'job.failed':
        take(jobs, event.id);
        return;
      case 'cron.created':
      case 'cron.changed':
        crons.set(event.name, event.cron);
        return;
      case 'cron.deleted':
        take(crons, event.name);
        return;
      case 'cron.fired': {
        const {name, last_run, next_run, outcome: last_outcome, error: last_error} = event;
        const {failures: before} = crons.get(name)!;
        const failures = last_outcome === 'failed' ? before + 1 : 0;
        crons.set(name, {...crons.get(name)!, last_run, next_run, last_outcome, last_error, failures});
        return;
      }
      case 'cron.rescheduled':
        crons.set(event.name, {...crons.get(event.name)!, next_run: event.next_run});
        return;
      case 'deployment.activated': {
        for (const [id, known] of deployments) deployments.set(id, {...known, active: false});
        const {files: _, ...shown} = event.deployment;
        deployments.set(shown.id, {...shown, active: true});
        return;
      }
      case 'deployment.forgotten':
        take(deployments, Number(event.id));
        return;
      case 'environment.set':
        environment.add(event.name);
        return;
      case 'environment.deleted':
        if (!environment.delete(event.name)) throw new Error(`${event.name} was not set`);
        return;
      case 'settings.changed':
        this.#parts.settings = event.settings;
        return;
      default:
        unreachable(event);
    }
  }
}

/** What a record takes away must be there: a follower that is off by one record shows. */
function take<K>(from: Map<K, unknown>, key: K): void {
  if (!from.delete(key)) throw new Error(`${String(key)} is not there`);
}

/** A reader that replays a schema builds indexes of its own. */
function withoutState({table, fields, indexes}: JournalSchema): JournalSchema {
  const kept = ({id, name, fields: paths, unique}: JournalSchema['indexes'][number]) => ({
    ...{id, name, fields: paths},
    ...(unique === undefined ? {} : {unique}),
  });
  return {table, fields, indexes: indexes.map(kept)};
}
