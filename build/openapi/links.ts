/**
 * Generates the links of responses, which say which operation produces the parameters of another one. They show a
 * reader the next call, and a program that runs all operations from the document the first call.
 */

import {OPERATION_TEXTS} from './operation-texts.ts';
import type {DescribedRoute} from './routes.ts';
import type {Schema} from './schemas.ts';
import type {Example} from './texts/text.ts';

/** By the id of the operation that is called first; the name of a link is the id of the operation that follows. */
export function linksBySource(routes: readonly DescribedRoute[]): ReadonlyMap<string, Schema> {
  const links = new Map<string, Record<string, Schema>>();
  const ids = new Set(routes.map(({id}) => id));
  for (const {name, id, parameter} of routes) {
    const {example, others = {}} = OPERATION_TEXTS[name];
    const {from}: Example = others[parameter ?? ''] ?? example;
    if (from === undefined) continue;
    if (!ids.has(from.operation)) throw new Error(`${id} follows ${from.operation}, which there is not`);
    const ofSource = links.get(from.operation) ?? {};
    ofSource[id] = {operationId: id, parameters: from.values};
    links.set(from.operation, ofSource);
  }
  return links;
}
