import {v} from 'svc/values';
import {type MutationCtx, query} from './_generated/server';

/** Who is signed in, or null. It looks at the identity, so each user has a result of their own. */
export const me = query({
  args: {},
  returns: v.union(v.object({user: v.string(), name: v.string()}), v.null()),
  handler: async ctx => {
    const identity = await ctx.auth.getUserIdentity();
    return identity === null ? null : {user: identity.tokenIdentifier, name: identity.name ?? identity.subject};
  },
});

/** For functions that only users may call. @throws when the caller is not signed in */
export async function signedIn(ctx: Pick<MutationCtx, 'auth'>): Promise<{user: string; name: string}> {
  const identity = await ctx.auth.getUserIdentity();
  if (identity === null) throw new Error('Sign in first');
  return {user: identity.tokenIdentifier, name: identity.name ?? identity.subject};
}
