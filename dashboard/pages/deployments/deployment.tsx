/** One deployment: its source, or what differs from another. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Select} from '../../parts/field.tsx';
import {Page, useUrlState} from '../../parts/page.tsx';
import {Time} from '../../parts/values.tsx';
import {Activate} from './activate.tsx';
import {Compare} from './compare.tsx';
import css from './deployments.module.css';
import {Source} from './source.tsx';

export type Deployment = AnswerOf<'deployments.list'>['deployments'][number];

type DeploymentProps = {tenant: string; deployment: Deployment; all: readonly Deployment[]};

export function DeploymentView({tenant, deployment, all}: DeploymentProps) {
  const {id, active, message, created_at: created} = deployment;
  const [compared, setCompared] = useUrlState('compare');
  const [isActivating, setActivating] = useState(false);
  const other = all.find(one => String(one.id) === compared && one.id !== id);
  return (
    <Page
      title={`Deployment ${id}`}
      isWide
      actions={
        <>
          <Select
            label="Show"
            isLabelHidden
            value={other === undefined ? '' : String(other.id)}
            options={[
              ['', 'Its source'],
              ...all
                .filter(one => one.id !== id)
                .map(
                  one => [String(one.id), `Changes from deployment ${one.id}${one.active ? ' (active)' : ''}`] as const,
                ),
            ]}
            onChange={event => setCompared(event.target.value)}
          />
          {active ? null : <Button onClick={() => setActivating(true)}>Activate</Button>}
        </>
      }
    >
      <p className={css.about}>
        {active ? <Badge tone="good">active</Badge> : null} {message} <Time at={created} form="full" />
      </p>
      {other === undefined ? (
        <Source tenant={tenant} id={String(id)} />
      ) : (
        <Compare tenant={tenant} from={String(other.id)} to={String(id)} />
      )}
      {isActivating ? <Activate tenant={tenant} id={id} onClose={() => setActivating(false)} /> : null}
    </Page>
  );
}
