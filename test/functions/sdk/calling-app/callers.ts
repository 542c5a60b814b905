/** Return types are left to the compiler. */
import {action} from '../sample-app.ts';
import {api, internal} from './api.ts';

export const sum = action({
  args: {},
  handler: async ctx => {
    const one = await ctx.runQuery(api.numbers.one, {});
    const deep = await ctx.runQuery(api.deep.numbers.one, {});
    return one + deep;
  },
});
export const text = action({args: {}, handler: async ctx => await ctx.runQuery(internal.numbers.hidden, {})});
