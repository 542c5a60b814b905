import type {OptimisticLocalStore} from 'svc/react';
import type {FunctionArgs} from 'svc/server';
import {api} from '../svc/_generated/api';
import type {Id} from '../svc/_generated/dataModel';

type NewMessage = FunctionArgs<typeof api.messages.send>;

/** What an id of a message that only this page has begins with. */
const UNSENT = 'unsent:';

export function isUnsent(id: string): boolean {
  return id.startsWith(UNSENT);
}

/** Shows the message at the end of its channel until the server's answer, which has it under the same key, takes its place. */
export function showAtOnce(store: OptimisticLocalStore, {channel, text, key = ''}: NewMessage): void {
  const me = store.getQuery(api.users.me, {});
  for (const {args, value} of store.getAllQueries(api.messages.list)) {
    if (value === undefined || args.channel !== channel || args.paginationOpts.cursor !== null) continue;
    const now = Date.now();
    const message = {
      _id: `${UNSENT}${key}` as Id<'messages'>,
      _creationTime: now,
      _updateTime: now,
      channel,
      author: me?.name ?? '',
      ...(me ? {user: me.user} : {}),
      text,
      key,
    };
    store.setQuery(api.messages.list, args, {...value, page: [message, ...value.page]});
  }
}

/** Takes it from the page at once. */
export function hideAtOnce(store: OptimisticLocalStore, {id}: {id: Id<'messages'>}): void {
  for (const {args, value} of store.getAllQueries(api.messages.list)) {
    if (value === undefined || !value.page.some(message => message._id === id)) continue;
    store.setQuery(api.messages.list, args, {...value, page: value.page.filter(message => message._id !== id)});
  }
}
