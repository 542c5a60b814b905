/** Why a subscribed query runs again, in the form that clients get. */

import type {Commit} from '../../../../engine/commit/commit.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import type {Touch} from '../../results/recent-changes.ts';

export function reasonOf({change}: Touch, ts: number): Because {
  return change === null ? {cause: 'unknown'} : {cause: 'written', ts, table: change.table.name, id: change.id};
}

const CAUSES: Readonly<Record<string, 'deployment' | 'environment' | 'schema'>> = {
  'deployment.activated': 'deployment',
  'environment.set': 'environment',
  'environment.deleted': 'environment',
  'schema.set': 'schema',
  'schema.deleted': 'schema',
};

/** The kind of event that changes how every function runs although no document has changed. */
export function causeOf(events: Commit['events']): 'deployment' | 'environment' | 'schema' | null {
  let cause = null;
  for (const {type} of events) cause ??= CAUSES[type] ?? null;
  return cause;
}
