/** A function that calls one of its own module says what it returns: its module's types are made of its own, too. */
import {action, query} from '../sample-app.ts';
import {api} from './api.ts';

export const one = query({args: {}, handler: async () => 1});
export const sum = action({
  args: {},
  handler: async (ctx): Promise<number> => (await ctx.runQuery(api.own.one, {})) + 1,
});
