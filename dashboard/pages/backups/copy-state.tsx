/** How far the copy of a tenant is behind it, and what its last drill proved. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {Badge} from '../../parts/badge.tsx';
import {durationText, Time} from '../../parts/values.tsx';
import {proofOf, stateOf} from './points.ts';

type TenantBackup = AnswerOf<'backup.status'>['tenants'][number];

export function CopyState({tenant, everyMs}: {tenant: TenantBackup; everyMs: number}) {
  const {text, tone, behindMs} = stateOf(tenant, everyMs);
  return (
    <Badge tone={tone} title={tenant.fault?.message ?? ''}>
      {behindMs === 0 ? text : `${text} ${durationText(behindMs)}`}
    </Badge>
  );
}

export function LastDrill({tenant: {last_proof: proof}}: {tenant: TenantBackup}) {
  const {text, tone, finding} = proofOf(proof);
  return (
    <span>
      <Badge tone={tone} title={finding}>
        {text}
      </Badge>{' '}
      {proof === null ? null : <Time at={proof.at} />}
    </span>
  );
}
