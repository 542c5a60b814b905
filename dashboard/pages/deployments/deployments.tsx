/** Deployments of a tenant, newest first, one of them with its source, and the way back to an older one. */
import {useState} from 'react';
import {Link} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Page, pathOf, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';
import {Activate} from './activate.tsx';
import {type Deployment, DeploymentView} from './deployment.tsx';
import css from './deployments.module.css';

/** The next step of its path is the id of a deployment, or `active`. */
export default function Deployments({tenant, rest: [chosen]}: TenantPageProps) {
  const deployments = useOperation('deployments.list', {tenant}, {every: REFRESH_MS});
  if (chosen === undefined) return <DeploymentList tenant={tenant} />;
  return (
    <Loaded query={deployments}>
      {({deployments: all}) => {
        const found = all.find(({id, active}) => (chosen === 'active' ? active : String(id) === chosen));
        if (found !== undefined) return <DeploymentView tenant={tenant} deployment={found} all={all} />;
        return (
          <Page title="Deployments">
            <Empty title={chosen === 'active' ? 'No deployment is active' : `There is no deployment ${chosen}`}>
              <Link href={pathOf(tenant, 'deployments')}>All deployments</Link>
            </Empty>
          </Page>
        );
      }}
    </Loaded>
  );
}

function DeploymentList({tenant}: {tenant: string}) {
  const deployments = useOperation('deployments.list', {tenant}, {every: REFRESH_MS});
  const progress = useOperation('deployments.progress', {tenant}, {every: REFRESH_MS});
  const [activated, setActivated] = useState<number | null>(null);
  const active = deployments.data?.deployments.find(one => one.active);
  const pathTo = (id: number) => pathOf(tenant, 'deployments', String(id));
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
              Run <code>svc init</code> to make an app, then <code>svc deploy --tenant {tenant}</code> in it.
            </Empty>
          ) : (
            <Table
              label="Deployments"
              rows={all}
              keyOf={({id}) => id}
              columns={[
                {title: 'Id', cell: ({id}) => <Link href={pathTo(id)}>#{id}</Link>},
                {title: 'State', cell: State},
                {title: 'Message', grows: true, cell: ({message}) => message ?? ''},
                {title: 'Functions', align: 'end', cell: ({functions}) => functions},
                {title: 'Created', cell: ({created_at}) => <Time at={created_at} />},
                {title: 'Hash', cell: ({hash}) => <code title={hash}>{hash.slice(0, 10)}</code>},
                {
                  title: 'Actions',
                  isTitleHidden: true,
                  align: 'end',
                  cell: one => (
                    <span className={css.actions}>
                      <Link href={pathTo(one.id)}>Source</Link>
                      {one.active || active === undefined ? null : (
                        <>
                          <Link href={`${pathTo(one.id)}?compare=${active.id}`}>Compare</Link>
                          <Button kind="quiet" onClick={() => setActivated(one.id)}>
                            Activate
                          </Button>
                        </>
                      )}
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {activated === null ? null : <Activate tenant={tenant} id={activated} onClose={() => setActivated(null)} />}
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
