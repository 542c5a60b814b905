/** Deployments of a tenant, newest first, and the way back to an older one. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';
import {Compare} from './compare.tsx';

type Deployment = AnswerOf<'deployments.list'>['deployments'][number];

export default function Deployments({tenant}: TenantPageProps) {
  const deployments = useOperation('deployments.list', {tenant}, {every: REFRESH_MS});
  const progress = useOperation('deployments.progress', {tenant}, {every: REFRESH_MS});
  const [compared, setCompared] = useState<number | null>(null);
  const active = deployments.data?.deployments.find(one => one.active);
  return (
    <Page title="Deployments">
      {progress.data?.deploys.map(({request_id, step, detail, since}) => (
        <Note key={request_id}>
          A deployment is under way: {step.replaceAll('_', ' ')}
          {detail === null ? '' : ` (${detail})`}, since <Time at={since} />.
        </Note>
      ))}
      <Loaded query={deployments}>
        {({deployments: all}) =>
          all.length === 0 ? (
            <Empty title="No code is deployed" icon="deployments">
              Run <code>npx svc init</code> in a project, then <code>npx svc deploy --tenant {tenant}</code>.
            </Empty>
          ) : (
            <Table
              label="Deployments"
              rows={all}
              keyOf={({id}) => id}
              columns={[
                {title: 'Id', cell: ({id}) => `#${id}`},
                {title: 'State', cell: State},
                {title: 'Message', grows: true, cell: ({message}) => message ?? ''},
                {title: 'Functions', align: 'end', cell: ({functions}) => functions},
                {title: 'Created', cell: ({created_at}) => <Time at={created_at} />},
                {title: 'Hash', cell: ({hash}) => <code title={hash}>{hash.slice(0, 10)}</code>},
                {
                  title: 'Actions',
                  isTitleHidden: true,
                  align: 'end',
                  cell: one =>
                    one.active ? null : (
                      <>
                        <Button kind="quiet" onClick={() => setCompared(one.id)}>
                          Compare
                        </Button>
                        <Activate tenant={tenant} deployment={one} />
                      </>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {compared === null || active === undefined ? null : (
        <Compare tenant={tenant} from={active.id} to={compared} onClose={() => setCompared(null)} />
      )}
    </Page>
  );
}

function State({active, development}: Deployment) {
  return (
    <>
      {active ? <Badge tone="good">active</Badge> : null} {development ? <Badge>development</Badge> : null}
    </>
  );
}

function Activate({tenant, deployment}: {tenant: string; deployment: Deployment}) {
  return (
    <OperationButton
      operation="deployments.activate"
      input={{tenant, params: {deployment_id: String(deployment.id)}}}
      refresh={['deployments.list', 'functions.list']}
      done={`Deployment ${deployment.id} is active`}
      kind="quiet"
      question={{
        title: `Activate deployment ${deployment.id}`,
        text: 'The next call runs its code. Existing documents are checked against its schema first; if they do not fit, nothing changes.',
      }}
    >
      Activate
    </OperationButton>
  );
}
