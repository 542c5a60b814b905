/** What holding and letting go will look like, until the server says what it is: a seat that another buyer got first turns back. */

import type {OptimisticLocalStore} from 'svc/react';
import type {FunctionReturnType} from 'svc/server';
import {api} from '../svc/_generated/api';
import type {Id} from '../svc/_generated/dataModel';

type Change = {seat: Id<'seats'>; buyer: string};
type Seat = FunctionReturnType<typeof api.seats.row>[number];

export function showHeld(store: OptimisticLocalStore, {seat: id, buyer}: Change): void {
  const found = setState(store, id, 'held');
  const mine = store.getQuery(api.seats.mine, {buyer});
  if (found === null || mine === undefined) return;
  const {seat, row} = found;
  const held = {_id: id, place: `${row}${seat.number}`, price: seat.price, state: 'held' as const, until: undefined};
  store.setQuery(api.seats.mine, {buyer}, [...mine.filter(({_id}) => _id !== id), held]);
}

export function showFree(store: OptimisticLocalStore, {seat: id, buyer}: Change): void {
  setState(store, id, 'free');
  const mine = store.getQuery(api.seats.mine, {buyer});
  if (mine !== undefined)
    store.setQuery(
      api.seats.mine,
      {buyer},
      mine.filter(({_id}) => _id !== id),
    );
}

function setState(
  store: OptimisticLocalStore,
  id: Id<'seats'>,
  state: Seat['state'],
): {seat: Seat; row: string} | null {
  for (const {args, value} of store.getAllQueries(api.seats.row)) {
    const seat = value?.find(({_id}) => _id === id);
    if (value === undefined || seat === undefined) continue;
    const seats = value.map(other => (other === seat ? {...seat, state} : other));
    store.setQuery(api.seats.row, args, seats);
    return {seat, row: args.row};
  }
  return null;
}
