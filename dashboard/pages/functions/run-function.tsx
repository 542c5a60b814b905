/** Runs one function with arguments as JSON, with or without an identity, and shows what it returned. */
import {useState} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {missingScopes, useSession} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {TextArea} from '../../parts/field.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Note} from '../../parts/states.tsx';
import css from './functions.module.css';
import {exampleOf, typeText} from './validators.ts';

export type FunctionEntry = AnswerOf<'functions.list'>['functions'][number];

export function RunFunction({tenant, entry}: {tenant: string; entry: FunctionEntry}) {
  const [args, setArgs] = useState(() => JSON.stringify(entry.args === null ? {} : exampleOf(entry.args), null, 2));
  const [identity, setIdentity] = useState('');
  const run = useChange('functions.run', []);
  const missing = missingScopes(useSession(), 'functions.run');
  const argsFault = faultOf(args);
  const identityFault = identity.trim() === '' ? null : faultOf(identity);
  const isHttp = entry.kind === 'httpAction';

  const submit = () =>
    run.mutate({
      tenant,
      body: {
        path: entry.path,
        args: JSON.parse(args),
        ...(identity.trim() === '' ? {} : {identity: JSON.parse(identity)}),
      },
    });

  return (
    <form
      className={css.run}
      onSubmit={event => {
        event.preventDefault();
        submit();
      }}
    >
      <h2>
        <code className={css.title}>{entry.path}</code>
      </h2>
      <div className={css.types}>
        <span>Arguments</span>
        <code>{entry.args === null ? 'not declared' : typeText(entry.args)}</code>
        <span>Returns</span>
        <code>{entry.returns === null ? 'not declared' : typeText(entry.returns)}</code>
      </div>
      {isHttp ? (
        <Note>An HTTP action is called by its route, not from here.</Note>
      ) : (
        <>
          <TextArea
            label="Arguments (JSON)"
            value={args}
            fault={argsFault}
            onChange={event => setArgs(event.target.value)}
          />
          <TextArea
            label="Identity (JSON)"
            rows={2}
            placeholder='{"subject": "user1", "issuer": "https://example.com"}'
            hint="What ctx.auth.getUserIdentity() returns. Empty: not signed in."
            value={identity}
            fault={identityFault}
            onChange={event => setIdentity(event.target.value)}
          />
          <div>
            <Button
              type="submit"
              kind="primary"
              icon="play"
              isBusy={run.isPending}
              disabled={argsFault !== null || identityFault !== null || missing.length > 0}
              title={missing.length > 0 ? `Needs the scope ${missing.join(', ')}` : undefined}
            >
              Run
            </Button>
          </div>
          <div aria-live="polite" className={css.result}>
            {run.error === null ? null : <Note tone="bad">{messageOf(run.error)}</Note>}
            {run.data === undefined ? null : <Result reply={run.data} />}
          </div>
          <Link href={`${pathOf(tenant, 'logs')}?path=${encodeURIComponent(entry.path)}`}>Logs of this function</Link>
        </>
      )}
    </form>
  );
}

type Reply =
  | {status: 'success'; value: unknown; logLines?: string[]}
  | {status: 'error'; errorMessage: string; logLines?: string[]};

function Result({reply}: {reply: Reply}) {
  return (
    <>
      {reply.status === 'error' ? (
        <Note tone="bad">{reply.errorMessage}</Note>
      ) : (
        <pre className={css.value}>{JSON.stringify(reply.value, null, 2)}</pre>
      )}
      {reply.logLines === undefined || reply.logLines.length === 0 ? null : (
        <pre className={css.value}>{reply.logLines.join('\n')}</pre>
      )}
    </>
  );
}

function faultOf(json: string): string | null {
  try {
    JSON.parse(json);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
