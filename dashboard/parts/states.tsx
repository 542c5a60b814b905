/** What a page shows instead of content: loading, empty, failed or not allowed. Each says what to do next. */
import type {UseQueryResult} from '@tanstack/react-query';
import type {ReactNode} from 'react';
import {Link} from 'wouter';
import {ApiFailure, messageOf} from '../api/failure.ts';
import {Button} from './button.tsx';
import {Icon, type IconName} from './icon.tsx';
import css from './states.module.css';

const NOT_FOUND = 404;

export function Empty({title, icon, children}: {title: string; icon?: IconName; children?: ReactNode}) {
  return (
    <div className={css.state}>
      {icon === undefined ? null : <Icon name={icon} />}
      <strong>{title}</strong>
      {children === undefined ? null : <div className={css.next}>{children}</div>}
    </div>
  );
}

/** Appears after a moment only: most answers are there before. */
export function Loading({label = 'Loading'}: {label?: string}) {
  return (
    <div className={css.loading} role="status">
      <span className={css.bar} />
      <span className={css.unseen}>{label}</span>
    </div>
  );
}

export function Failed({error, retry}: {error: unknown; retry?: () => void}) {
  if (error instanceof ApiFailure && error.code === 'auth.forbidden') return <NoPermission message={error.message} />;
  const isNetwork = error instanceof ApiFailure && error.code === 'network';
  const isMissing = error instanceof ApiFailure && error.status === NOT_FOUND;
  return (
    <div className={css.state} role="alert">
      <Icon name="warning" />
      <strong>{isNetwork ? 'No answer from the server' : isMissing ? 'Not found' : 'That did not work'}</strong>
      <div className={css.next}>{messageOf(error)}</div>
      {error instanceof ApiFailure && error.code === 'session.tenant_not_found' ? (
        <div className={css.next}>
          Go to <Link href="/tenants">all tenants</Link>.
        </div>
      ) : null}
      {retry === undefined ? null : (
        <Button icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function NoPermission({message}: {message: string}) {
  return (
    <div className={css.state}>
      <Icon name="lock" />
      <strong>Your credential does not allow this</strong>
      <div className={css.next}>{message}</div>
      <div className={css.next}>Sign in with a key that has this right, or ask an administrator for one.</div>
    </div>
  );
}

/** The content of a query's answer, or the state that replaces it. */
export function Loaded<T>({query, children}: {query: UseQueryResult<T>; children(data: T): ReactNode}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <Failed error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}

/** A remark on a page: something to know or to do. */
export function Note({tone = 'info', children}: {tone?: 'info' | 'warn' | 'bad' | 'good'; children: ReactNode}) {
  return (
    <div className={[css.note, css[tone]].join(' ')}>
      {tone === 'info' ? null : <Icon name={tone === 'good' ? 'check' : 'warning'} />}
      <div>{children}</div>
    </div>
  );
}
