/** The handlers of all operations; a missing one is a compile error. */
import type {Handlers} from './answer.ts';
import {bulk} from './bulk.ts';
import {control} from './control.ts';
import {documents} from './documents.ts';
import {functions} from './functions.ts';
import {journal} from './journal.ts';
import {live} from './live.ts';
import {schedule} from './schedule.ts';
import {schema} from './schema.ts';
import {transactions} from './transactions.ts';

export const HANDLERS: Handlers = {
  ...documents,
  ...transactions,
  ...bulk,
  ...journal,
  ...live,
  ...schema,
  ...schedule,
  ...functions,
  ...control,
};
