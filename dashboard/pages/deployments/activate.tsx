/** Makes a deployment the active one, after a preview of the checks: what would change, and what would fail. */
import type {ReactNode} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Loaded, Note} from '../../parts/states.tsx';
import {plural} from '../../parts/values.tsx';

type Preview = AnswerOf<'deployments.preview'>;

type ActivateProps = {tenant: string; id: number; onClose(): void};

export function Activate({tenant, id, onClose}: ActivateProps) {
  const params = {deployment_id: String(id)};
  const preview = useOperation('deployments.preview', {tenant, params}, {isOnce: true});
  return (
    <Dialog
      title={`Activate deployment ${id}`}
      size="large"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <OperationButton
            operation="deployments.activate"
            input={{tenant, params}}
            refresh={['deployments.list', 'functions.list', 'schema.all']}
            done={`Deployment ${id} is active`}
            onDone={onClose}
            kind="primary"
            disabled={preview.data === undefined || preview.data.errors.length > 0}
          >
            Activate
          </OperationButton>
        </>
      }
    >
      <Loaded query={preview}>{found => <Found tenant={tenant} preview={found} />}</Loaded>
    </Dialog>
  );
}

function Found({tenant, preview}: {tenant: string; preview: Preview}) {
  const {deployment, active, errors, builds} = preview;
  const warnings = warningsOf(tenant, preview);
  const changes = changesOf(preview);
  return (
    <>
      {errors.length === 0 ? (
        <Note tone="good">All documents fit its schema. The next call runs its code.</Note>
      ) : (
        <Note tone="bad">
          It cannot be activated: documents that were written since do not fit its schema.
          <ul>
            {errors.map(({message}) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        </Note>
      )}
      {warnings.map(([name, text]) => (
        <Note key={name} tone="warn">
          {text}
        </Note>
      ))}
      {builds
        .filter(({documents}) => documents > 0)
        .map(({table, name, documents}) => (
          <p key={`${table} ${name}`}>
            The index <code>{`${table}.${name}`}</code> is filled first, from {plural(documents, 'document')}. The
            tenant serves meanwhile.
          </p>
        ))}
      {changes.length === 0 ? (
        <p>Tables and indexes stay as they are.</p>
      ) : (
        <ul>
          {changes.map(change => (
            <li key={change}>{change}</li>
          ))}
        </ul>
      )}
      {active === null || active === deployment ? null : (
        <Link href={`${pathOf(tenant, 'deployments', String(deployment))}?compare=${active}`}>
          What differs from the active deployment
        </Link>
      )}
    </>
  );
}

/** What the checks do not refuse, and what to do about it. */
function warningsOf(tenant: string, preview: Preview): [name: string, text: ReactNode][] {
  const {missing_functions: functions, failing_crons: crons, missing_variables: variables} = preview;
  return [
    ...functions.map(({path, jobs}): [string, ReactNode] => [
      path,
      <>
        {plural(jobs, 'pending job')} would fail: this deployment has no mutation <code>{path}</code>.{' '}
        <Link href={pathOf(tenant, 'schedules')}>Schedules</Link>
      </>,
    ]),
    ...crons.map(({name, message}): [string, ReactNode] => [
      `cron ${name}`,
      <>
        The cron {name} would fail: {message} <Link href={pathOf(tenant, 'schedules')}>Schedules</Link>
      </>,
    ]),
    ...(variables.length === 0
      ? []
      : [
          [
            'variables',
            <>
              Its code reads variables that are not set: <code>{variables.join(', ')}</code>.{' '}
              <Link href={pathOf(tenant, 'settings')}>Settings</Link>
            </>,
          ] as [string, ReactNode],
        ]),
  ];
}

function changesOf({changes: {tables, indexes}}: Preview): string[] {
  return [
    ...tables.declared.map(name => `Table ${name} is declared again.`),
    ...tables.undeclared.map(name => `Table ${name} is no longer declared: its documents stay, and are not checked.`),
    ...indexes.added.map(index => `Index ${index} is added.`),
    ...indexes.dropped.map(index => `Index ${index} is dropped.`),
  ];
}
