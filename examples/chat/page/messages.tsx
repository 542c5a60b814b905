import {Fragment, useEffect, useMemo, useRef} from 'react';
import {usePaginatedQuery} from 'svc/react';
import {Icon} from '../../kit/icons';
import {api} from '../svc/_generated/api';
import type {Doc} from '../svc/_generated/dataModel';
import type {Me} from './channel-view';
import {Message} from './message';
import {useScrollAnchor} from './use-scroll-anchor';

const FIRST_PAGE = 40;
const NEXT_PAGES = 250;
/** So far above the first message shown, older ones are asked for. */
const AHEAD = '1200px';
/** Messages of one author this close together stand under one name. */
const TOGETHER_MS = 5 * 60_000;

const dayFormat = new Intl.DateTimeFormat('en', {weekday: 'long', day: 'numeric', month: 'long'});

/** Oldest at the top, newest at the end, where it stays unless the reader scrolls up. */
export function Messages({channel, me}: {channel: Doc<'channels'>; me: Me}) {
  const {results, status, loadMore} = usePaginatedQuery(
    api.messages.list,
    {channel: channel._id},
    {initialNumItems: FIRST_PAGE},
  );
  const messages = useMemo(() => results.toReversed(), [results]);
  const {scroller, list, isAtEnd, unseen, goToEnd} = useScrollAnchor(messages);
  const top = useRef<HTMLLIElement>(null);

  // Looks again after each page, which may have been short.
  useEffect(() => {
    if (status !== 'CanLoadMore') return;
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) loadMore(NEXT_PAGES);
      },
      {root: scroller.current, rootMargin: `${AHEAD} 0px 0px 0px`},
    );
    observer.observe(top.current!);
    return () => observer.disconnect();
  }, [status, loadMore, results.length, scroller]);

  const newest = messages.at(-1);
  return (
    <div className="history">
      <div className="scroller" ref={scroller}>
        <ol ref={list} aria-label={`Messages in ${channel.name}`} aria-busy={status === 'LoadingFirstPage'}>
          <li ref={top} className="edge" data-status={status}>
            {status === 'Exhausted' ? `This is where #${channel.name} begins` : 'Older messages…'}
          </li>
          {messages.map((message, index) => {
            const before = messages[index - 1];
            const isNewDay = before === undefined || dayOf(before) !== dayOf(message);
            return (
              <Fragment key={message.key ?? message._id}>
                {isNewDay && (
                  <li className="day">
                    <span>{dayFormat.format(message._creationTime)}</span>
                  </li>
                )}
                <Message
                  message={message}
                  isMine={message.user === me.user}
                  isContinued={!isNewDay && continues(before, message)}
                />
              </Fragment>
            );
          })}
        </ol>
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={goToEnd}>
          <Icon name="down" />
          {unseen === 0 ? 'Newest messages' : `${unseen} new`}
        </button>
      )}
      <p className="unseen" aria-live="polite">
        {newest !== undefined && newest.user !== me.user && `${newest.author}: ${newest.text}`}
      </p>
    </div>
  );
}

function continues(before: Doc<'messages'>, message: Doc<'messages'>): boolean {
  const isSameAuthor = before.author === message.author && before.user === message.user;
  return isSameAuthor && message._creationTime - before._creationTime < TOGETHER_MS;
}

function dayOf({_creationTime}: Doc<'messages'>): string {
  return new Date(_creationTime).toDateString();
}
