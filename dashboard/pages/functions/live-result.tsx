/** The result of a query, kept current: again after each change, with the reason. Reconnects by itself. */
import {useEffect, useState} from 'react';
import {Link} from 'wouter';
import type {WatchedReply} from '../../../shared/protocol/function-calls.ts';
import {ApiFailure, messageOf} from '../../api/failure.ts';
import {events} from '../../api/lines.ts';
import {RECONNECT_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Note} from '../../parts/states.tsx';
import {plural, Time} from '../../parts/values.tsx';
import css from './functions.module.css';
import type {Identity} from './identities.ts';
import {identityText, ReplyText} from './result.tsx';

/** What is watched. Another object is watched from its beginning. */
export type Watched = {readonly path: string; readonly args: unknown; readonly identity: Identity | null};

type Live = {
  readonly reply: WatchedReply | null;
  /** When it arrived. */
  readonly at: number;
  /** Results after the first one. */
  readonly updates: number;
  readonly isConnected: boolean;
  /** The server refuses to watch it. */
  readonly error: unknown;
};

type End = {readonly error: {readonly message: string} | null};

const NOTHING: Live = {reply: null, at: 0, updates: -1, isConnected: false, error: null};

function useLiveResult(tenant: string, watched: Watched): Live {
  const [live, setLive] = useState(NOTHING);
  useEffect(() => {
    const abort = new AbortController();
    const {signal} = abort;
    let timer: ReturnType<typeof setTimeout>;
    setLive(NOTHING);

    async function follow(): Promise<void> {
      try {
        const {path, args, identity} = watched;
        const body = {path, args, ...(identity === null ? {} : {identity})};
        const stream = events<'functions.watch', WatchedReply | End>('functions.watch', {tenant, body}, {signal});
        for await (const {data} of stream) {
          if (!('status' in data)) break;
          setLive(({updates}) => {
            return {reply: data, at: Date.now(), updates: updates + 1, isConnected: true, error: null};
          });
        }
      } catch (error) {
        if (signal.aborted) return;
        const isRefused = error instanceof ApiFailure && error.status >= 400 && error.status < 500;
        if (isRefused) return setLive(before => ({...before, isConnected: false, error}));
      }
      if (signal.aborted) return;
      setLive(before => ({...before, isConnected: false}));
      timer = setTimeout(() => void follow(), RECONNECT_MS);
    }

    void follow();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [tenant, watched]);
  return live;
}

export function LiveResult({tenant, watched, onStop}: {tenant: string; watched: Watched; onStop(): void}) {
  const {reply, at, updates, isConnected, error} = useLiveResult(tenant, watched);
  return (
    <>
      <div className={css.facts}>
        {isConnected ? <Badge tone="good">live</Badge> : <Badge>connecting</Badge>}
        {reply === null ? null : (
          <>
            <span>
              <Time key={at} at={at} />, {plural(updates, 'update')}
            </span>
            <Reason tenant={tenant} because={reply.because} />
          </>
        )}
        <span>{identityText(watched)}</span>
        <Button kind="quiet" icon="pause" onClick={onStop}>
          Stop
        </Button>
      </div>
      {error === null ? null : <Note tone="bad">{messageOf(error)}</Note>}
      {reply === null ? null : <ReplyText reply={reply} />}
    </>
  );
}

const REASONS: Readonly<Record<WatchedReply['because']['cause'], string>> = {
  added: '',
  written: '',
  identity: 'the identity changed',
  deployment: 'another deployment became active',
  environment: 'a variable changed',
  schema: 'a schema or an index changed',
  unknown: '',
};

function Reason({tenant, because: {cause, table, id}}: {tenant: string; because: WatchedReply['because']}) {
  if (cause !== 'written' || table === undefined || id === undefined) {
    return REASONS[cause] === '' ? null : <span>because {REASONS[cause]}</span>;
  }
  return (
    <span>
      because of a write to{' '}
      <Link href={`${pathOf(tenant, 'data', table)}?document=${encodeURIComponent(id)}`}>
        {table}/{id}
      </Link>
    </span>
  );
}
