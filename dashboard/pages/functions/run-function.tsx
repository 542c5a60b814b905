/** One function: what it takes and returns, and a way to run it with arguments and an identity of choice. */
import {useMutation} from '@tanstack/react-query';
import {useEffect, useRef, useState} from 'react';
import {Link} from 'wouter';
import {callRaw} from '../../api/client.ts';
import {messageOf} from '../../api/failure.ts';
import {randomId} from '../../api/random-id.ts';
import {missingScopes, useSession} from '../../api/session.ts';
import {FUNCTION_RUN_MS_MAX} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Check} from '../../parts/field.tsx';
import {Facts, pathOf, useUrlState} from '../../parts/page.tsx';
import {Note} from '../../parts/states.tsx';
import {type FunctionFigure, figureFacts} from './figures.tsx';
import {ArgumentsField, argumentsOf, firstArguments, readArguments} from './form/arguments.tsx';
import {type FunctionEntry, KindBadge} from './function-tree.tsx';
import css from './functions.module.css';
import {type Identity, isFault} from './identities.ts';
import {LiveResult, type Watched} from './live-result.tsx';
import {PastRuns} from './past-runs.tsx';
import {RunResult} from './result.tsx';
import {identityRunAs, type RunAs, RunAsField, runAsOf} from './run-as.tsx';
import {addRun, type PastRun, pastRuns, type Reply} from './run-history.ts';
import {typeText} from './validators.ts';

type Call = {readonly args: unknown; readonly identity: Identity | null};

export function RunFunction({
  tenant,
  entry,
  figure,
  as,
  onAs,
}: {
  tenant: string;
  entry: FunctionEntry;
  /** Null: they may not be seen. */
  figure: FunctionFigure | null;
  as: RunAs;
  onAs(as: RunAs): void;
}) {
  const session = useSession();
  const {path, kind} = entry;
  const [runs, setRuns] = useState(() => pastRuns(tenant, session.id));
  const [linked] = useUrlState('run');
  const [shown, setShown] = useState(() => runs.find(one => one.id === linked && one.path === path) ?? null);
  const [args, setArgs] = useState(() =>
    shown === null ? firstArguments(entry.args) : argumentsOf(entry.args, shown.args),
  );
  const [isLive, setLive] = useState(false);
  const [watched, setWatched] = useState<Watched | null>(null);
  const isQuery = kind === 'query' || kind === 'paginatedQuery';
  const read = readArguments(entry.args, args);
  const identity = identityRunAs(as);
  const missing = missingScopes(session, 'functions.run');
  const isReady = read.faults.size === 0 && !(identity !== null && isFault(identity));

  const run = useMutation({
    mutationFn: (one: Call) => runOnce(tenant, entry, one),
    onSuccess: done => {
      setShown(done);
      setRuns(addRun(tenant, session.id, done));
    },
  });
  const start = (one: Call) => {
    setShown(null);
    setWatched(isLive ? {path, ...one} : null);
    if (!isLive) run.mutate(one);
  };
  const submit = () => {
    if (isReady && missing.length === 0 && !run.isPending)
      start({args: read.value, identity: identity as Identity | null});
  };
  const latest = useRef(submit);
  latest.current = submit;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) latest.current();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
  const repeat = ({args: before, identity: caller}: PastRun) => {
    setArgs(argumentsOf(entry.args, before));
    onAs(runAsOf(caller));
    start({args: before, identity: caller});
  };

  return (
    <div className={css.run}>
      <header className={css.title}>
        <h2>
          <code>{path}</code>
        </h2>
        <KindBadge kind={kind} />
        <Badge>{entry.visibility}</Badge>
        {entry.runtime === undefined ? null : <Badge>{entry.runtime}</Badge>}
        <Link href={`${pathOf(tenant, 'logs')}?path=${encodeURIComponent(path)}`}>Logs</Link>
        <Link href={`${pathOf(tenant, 'deployments', 'active')}?function=${encodeURIComponent(path)}`}>Definition</Link>
      </header>
      {figure === null ? null : <Facts facts={figureFacts(figure)} />}
      <Types entry={entry} />
      {kind === 'httpAction' ? (
        <Note>An HTTP action is called by its route, not from here.</Note>
      ) : (
        <>
          <ArgumentsField tenant={tenant} validator={entry.args} args={args} read={read} onChange={setArgs} />
          <RunAsField tenant={tenant} as={as} onChange={onAs} />
          <div className={css.line}>
            <Button
              kind="primary"
              icon="play"
              isBusy={run.isPending}
              disabled={!isReady || missing.length > 0}
              title={
                missing.length > 0
                  ? `Needs the scope ${missing.join(', ')}`
                  : isReady
                    ? 'Ctrl Enter'
                    : 'Complete the arguments first'
              }
              onClick={submit}
            >
              Run
            </Button>
            {isQuery ? (
              <Check
                label="Keep the result live"
                checked={isLive}
                onChange={event => {
                  setLive(event.target.checked);
                  if (!event.target.checked) setWatched(null);
                }}
              />
            ) : null}
          </div>
          <div aria-live="polite" className={css.result}>
            {run.error === null ? null : <Note tone="bad">{messageOf(run.error)}</Note>}
            {watched === null ? null : <LiveResult tenant={tenant} watched={watched} onStop={() => setWatched(null)} />}
            {shown === null ? null : <RunResult tenant={tenant} run={shown} />}
          </div>
          <PastRuns
            runs={runs.filter(one => one.path === path)}
            hasPath={false}
            onShow={one => {
              run.reset();
              setWatched(null);
              setShown(one);
            }}
            onRepeat={repeat}
          />
        </>
      )}
    </div>
  );
}

function Types({entry: {args, returns}}: {entry: FunctionEntry}) {
  return (
    <details>
      <summary className={css.module}>Declared types</summary>
      <div className={css.types}>
        <span>Arguments</span>
        <code>{args === null ? 'not declared' : typeText(args)}</code>
        <span>Returns</span>
        <code>{returns === null ? 'not declared' : typeText(returns)}</code>
      </div>
    </details>
  );
}

/** @throws ApiFailure: the server did not run it */
async function runOnce(tenant: string, {path, kind}: FunctionEntry, {args, identity}: Call): Promise<PastRun> {
  const at = Date.now();
  const startedMs = performance.now();
  const body = {path, args, ...(identity === null ? {} : {identity})};
  const response = await callRaw('functions.run', {tenant, body}, {timeoutMs: FUNCTION_RUN_MS_MAX});
  const reply = (await response.json()) as Reply;
  const ms = performance.now() - startedMs;
  const requestId = response.headers.get('x-request-id');
  return {
    id: randomId(),
    at,
    path,
    kind,
    args,
    identity,
    ms,
    requestId,
    reply,
    isError: reply.status === 'error',
  };
}
