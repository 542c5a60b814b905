/** The one way in which a seat changes: with its show's counts, in the same transaction. */
import type {Doc} from './_generated/dataModel';
import type {MutationCtx} from './_generated/server';

type Change = Partial<Pick<Doc<'seats'>, 'buyer' | 'until' | 'expiry'>>;

/** @param change fields that are not given are removed */
export async function moveSeat(
  ctx: MutationCtx,
  seat: Doc<'seats'>,
  state: Doc<'seats'>['state'],
  {buyer, until, expiry}: Change = {},
): Promise<void> {
  await ctx.db.patch(seat._id, {state, buyer, until, expiry});
  if (state === seat.state) return;
  const counts = await ctx.db
    .query('counts')
    .withIndex('by_show', q => q.eq('show', seat.show))
    .unique();
  if (counts === null) throw new Error('A show has counts');
  await ctx.db.patch(counts._id, {[seat.state]: counts[seat.state] - 1, [state]: counts[state] + 1});
}
