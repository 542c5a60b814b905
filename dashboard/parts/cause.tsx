/** Who caused a write: a record's cause, with links to the function, the logs of the request, and the keys. */
import {Link} from 'wouter';
import type {JournalCause} from '../../shared/protocol/journal.ts';
import {pathOf} from './page.tsx';

const NAMES: Readonly<Record<JournalCause['kind'], string>> = {
  api: 'API request',
  function: 'Function',
  job: 'Job',
  cron: 'Cron',
  task: 'Bulk change',
  import: 'Import',
  system: 'svc itself',
};

/** In a few words, without links. */
export function causeText({kind, function: name, cron}: JournalCause): string {
  if (kind === 'cron') return `cron ${cron}`;
  if (name !== undefined) return name;
  return NAMES[kind];
}

export function Cause({tenant, cause}: {tenant: string; cause: JournalCause | undefined}) {
  if (cause === undefined) return 'Not recorded: an earlier version of svc wrote this.';
  const {kind, function: name, request_id: request, job_id: job, cron, key_id: key, session_id: session} = cause;
  const logs = (id: string) => `${pathOf(tenant, 'logs')}?${new URLSearchParams({request: id})}`;
  const parts = [
    name === undefined ? null : (
      <Link key="function" href={pathOf(tenant, 'functions', name)}>
        {name}
      </Link>
    ),
    job === undefined ? null : (
      <span key="job">
        job <Link href={logs(job)}>{job}</Link>
      </span>
    ),
    cron === undefined ? null : (
      <span key="cron">
        cron <Link href={pathOf(tenant, 'schedules')}>{cron}</Link>
      </span>
    ),
    cause.task_id === undefined ? null : (
      <span key="task">
        task <code>{cause.task_id}</code>
      </span>
    ),
    cause.import_id === undefined ? null : (
      <span key="import">
        import <code>{cause.import_id}</code>
      </span>
    ),
    request === undefined ? null : (
      <span key="request">
        {kind === 'api' ? '' : 'request '}
        {kind === 'function' ? <Link href={logs(request)}>{request}</Link> : <code>{request}</code>}
      </span>
    ),
    key === undefined ? null : (
      <span key="key">
        key <Link href="/keys">{key}</Link>
      </span>
    ),
    session === undefined ? null : <span key="session">in the dashboard</span>,
  ].filter(part => part !== null);
  return (
    <>
      {NAMES[kind]}
      {parts.map((part, i) => (
        <span key={part.key}>
          {i > 0 ? ', ' : kind === 'api' ? ' ' : ': '}
          {part}
        </span>
      ))}
    </>
  );
}
