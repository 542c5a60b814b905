/** One execution: a line, and when it is open its error, its log lines, its caller and its request. */
import {Link} from 'wouter';
import {Badge} from '../../parts/badge.tsx';
import {pathOf} from '../../parts/page.tsx';
import {durationText, Time} from '../../parts/values.tsx';
import type {LogEntry} from './log-window.ts';
import css from './logs.module.css';

export function LogItem({
  tenant,
  entry,
  isOpen,
  onToggle,
  onPath,
}: {
  tenant: string;
  entry: LogEntry;
  isOpen: boolean;
  onToggle(): void;
  onPath(path: string): void;
}) {
  const {at, path, kind, outcome, duration_ms: ms, error, lines, caller} = entry;
  return (
    <>
      <button type="button" className={css.head} aria-expanded={isOpen} onClick={onToggle}>
        <Time at={at} form="clock" />
        <Badge tone={outcome === 'success' ? 'good' : 'bad'}>{outcome}</Badge>
        <code className={css.path}>{path}</code>
        <span className={[css.muted, css.kind].join(' ')}>{kind}</span>
        <span className={[css.first, error === null ? '' : css.failed].join(' ')}>
          {error?.split('\n', 1)[0] ?? lines[0] ?? ''}
        </span>
        <span className={css.time}>{durationText(ms)}</span>
      </button>
      {isOpen ? (
        <div className={css.body}>
          <LogTexts entry={entry} />
          <p className={css.muted}>
            Called by {caller}, <Time at={at} form="full" />, request{' '}
            <Link href={pathOf(tenant, 'logs', 'request', entry.request_id)}>
              <code>{entry.request_id}</code>
            </Link>
            {' · '}
            <button type="button" className={css.link} onClick={() => onPath(path)}>
              Only {path}
            </button>
          </p>
        </div>
      ) : null}
    </>
  );
}

/** Its error with the stack, and its lines by level. */
export function LogTexts({entry: {error, lines}}: {entry: Pick<LogEntry, 'error' | 'lines'>}) {
  return (
    <>
      {error === null ? null : <pre className={css.error}>{error}</pre>}
      {lines.length === 0 ? null : (
        <ol className={css.lines}>
          {lines.map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an execution that ended does not change
            <li key={i} className={css[levelOf(line)]}>
              {line}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** `[WARN] …` is a line of `console.warn`. */
function levelOf(line: string): string {
  return /^\[(DEBUG|LOG|INFO|WARN|ERROR)\]/.exec(line)?.[1]?.toLowerCase() ?? 'log';
}
