/** `svc live …` shows the live queries of a tenant: what they cost, and which writes make them run. */
import type {Command} from 'commander';
import type {ListedLiveQuery, LiveEvaluation} from '../shared/protocol/live-list.ts';
import {listVerb} from './control.ts';
import {ask} from './project/target.ts';

export function register(program: Command): void {
  const live = program.command('live').description("show a tenant's live queries, and why they run");
  listVerb(
    live,
    'list',
    'list those that have taken the most time',
    async target => (await ask(target, 'live_queries.list', [], {query: {limit: 100}})).queries,
    queryText,
    'query',
  );
  listVerb(
    live,
    'show <id>',
    'list the newest evaluations of one, with the writes that caused them',
    async (target, id) => (await ask(target, 'live_queries.get', [id!])).recent,
    evaluationText,
    'evaluation',
  );
}

function queryText(query: ListedLiveQuery): string {
  const {id, holders, identities, result_bytes: bytes, time_ms: ms, evaluations} = query;
  const {changed, equal, unmatched, skipped} = evaluations;
  const counts = `${changed} changed, ${equal} equal, ${unmatched} unmatched, ${skipped} skipped`;
  const callers = identities === null ? '' : ` of ${identities} identities`;
  return `${id}  ${ms.toFixed(1)} ms  ${counts}  ${holders} holders${callers}  ${bytes} bytes  ${subjectText(query)}`;
}

function subjectText({type, query, function: path, args}: ListedLiveQuery): string {
  if (type === 'function') return `${path} ${JSON.stringify(args)}`;
  return query === null ? 'a long query' : JSON.stringify(query);
}

function evaluationText(evaluation: LiveEvaluation): string {
  const {at, time_ms: ms, result, cause, sequence, table, document, index, range} = evaluation;
  const write = sequence === null ? '' : ` ${table} ${document} at sequence ${sequence}`;
  const hit = range === null ? '' : `, in ${index === null ? '' : `${index}: `}${range}`;
  return `${new Date(at).toISOString()}  ${ms.toFixed(1)} ms  ${result}  ${cause}${write}${hit}`;
}
