/** Events of a commit after which functions run differently, or are answered differently, without a change of a document. */
import type {Commit} from './commit.ts';

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

/** Whether answers to calls may differ after these events. The settings decide about the headers of pages. */
export function changesAnswers(events: Commit['events']): boolean {
  return causeOf(events) !== null || events.some(({type}) => type === 'settings.changed');
}
