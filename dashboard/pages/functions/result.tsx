/** What a run returned or why it failed, with its log lines, and where else it left traces. */
import {Link} from 'wouter';
import {useMay} from '../../api/session.ts';
import {Badge} from '../../parts/badge.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Note} from '../../parts/states.tsx';
import {durationText, Time} from '../../parts/values.tsx';
import css from './functions.module.css';
import type {PastRun, Reply} from './run-history.ts';
import {Writes} from './writes.tsx';

export function RunResult({tenant, run}: {tenant: string; run: PastRun}) {
  const mayRead = useMay()('journal.page');
  const canWrite = mayRead && (run.kind === 'mutation' || run.kind === 'action');
  return (
    <>
      <p className={css.facts}>
        <Badge tone={run.isError ? 'bad' : 'good'}>{run.isError ? 'error' : 'success'}</Badge>
        <Time at={run.at} />
        <span>{durationText(run.ms)}</span>
        <span>{identityText(run)}</span>
        {run.requestId === null ? null : (
          <Link href={`${pathOf(tenant, 'logs')}?request=${encodeURIComponent(run.requestId)}`}>
            Log of {run.requestId}
          </Link>
        )}
      </p>
      {run.reply === null ? (
        <Note>The result was too long to keep in this tab. Run it again to see it.</Note>
      ) : (
        <ReplyText reply={run.reply} />
      )}
      {canWrite && run.requestId !== null ? <Writes tenant={tenant} requestId={run.requestId} /> : null}
    </>
  );
}

export function ReplyText({reply}: {reply: Reply}) {
  return (
    <>
      {reply.status === 'error' ? (
        <Note tone="bad">
          <pre className={css.error}>{reply.errorMessage}</pre>
        </Note>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard
        <pre className={css.value} tabIndex={0}>
          {JSON.stringify(reply.value, null, 2)}
        </pre>
      )}
      {reply.logLines === undefined || reply.logLines.length === 0 ? null : (
        <pre className={css.lines}>{reply.logLines.join('\n')}</pre>
      )}
    </>
  );
}

export function identityText({identity}: Pick<PastRun, 'identity'>): string {
  if (identity === null) return 'no identity';
  const {name, subject} = identity;
  return `as ${typeof name === 'string' ? name : String(subject)}`;
}
