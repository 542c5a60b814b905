/** Query strings of event streams. Unlike those of pages, unknown parameters are refused by name. */

import {checkTableName} from '../../../engine/storage/document.ts';
import {invalid} from '../../../shared/errors.ts';
import {FOLLOWED_TABLES_MAX} from '../limits.ts';

/** `after` null: from the oldest record kept. `tables` null: all. `limit` null: none. */
export type JournalStreamRequest = {
  after: number | 'latest' | null;
  timeline: string | null;
  tables: ReadonlySet<string> | null;
  limit: number | null;
  /** Another worker has sent its beginning. */
  isContinued: boolean;
};

/**
 * @param lastEventId from a reader that reconnects; it is more recent than the URL's position
 * @param continuesAfter the last event that its reader has, if another worker sent the beginning
 * @throws op.invalid_input 400
 */
export function journalStreamRequest(
  query: string,
  lastEventId: string | null,
  continuesAfter: string | null = null,
): JournalStreamRequest {
  const parameters = known(query, ['after', 'timeline', 'table', 'limit']);
  const after = parameters.get('after');
  const position = continuesAfter ?? lastEventId;
  return {
    after: position !== null ? whole('Last-Event-ID', position, 0) : cursor(after),
    timeline: parameters.get('timeline'),
    tables: tablesOf(parameters.getAll('table')),
    limit: limitOf(parameters),
    isContinued: continuesAfter !== null,
  };
}

/** For a query in the body. @throws op.invalid_input 400 */
export function queryStreamLimit(query: string): number | null {
  return limitOf(known(query, ['limit']));
}

/** For a query in the URL. @returns the query object's text @throws op.invalid_input 400 */
export function queryInUrl(query: string): {text: string; limit: number | null} {
  const parameters = known(query, ['query', 'limit']);
  const text = parameters.get('query');
  if (text === null) throw invalid('the URL must have the query object as ?query=, percent-encoded JSON');
  return {text, limit: limitOf(parameters)};
}

function known(query: string, names: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (names.includes(name)) continue;
    throw invalid(`${name.slice(0, 64)} is no parameter here: there are ${names.join(', ')}`);
  }
  return parameters;
}

function cursor(after: string | null): number | 'latest' | null {
  return after === null || after === 'latest' ? after : whole('after', after, 0);
}

function limitOf(parameters: URLSearchParams): number | null {
  const limit = parameters.get('limit');
  return limit === null ? null : whole('limit', limit, 1);
}

function tablesOf(names: readonly string[]): ReadonlySet<string> | null {
  if (names.length > FOLLOWED_TABLES_MAX) throw invalid(`a stream names at most ${FOLLOWED_TABLES_MAX} tables`);
  for (const name of names) checkTableName(name);
  return names.length === 0 ? null : new Set(names);
}

function whole(name: string, text: string, least: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw invalid(`${name} must be a whole number, ${least} or more`);
}
