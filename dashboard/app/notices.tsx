/** Lines above a page: the connection is lost, the tenant is read-only or a past state. */
import {useLocation} from 'wouter';
import {useConnection} from '../api/connection.ts';
import {unlock, useProtection} from '../api/production.ts';
import {useOperation} from '../api/queries.ts';
import {useMay} from '../api/session.ts';
import {Button} from '../parts/button.tsx';
import {Icon} from '../parts/icon.tsx';
import {lookOf} from '../parts/look.ts';
import {OperationButton} from '../parts/operation-button.tsx';
import {Time} from '../parts/values.tsx';
import css from './frame.module.css';

export function Notices({tenant}: {tenant: string | null}) {
  const connection = useConnection();
  const protection = useProtection(tenant);
  return (
    <div role="status">
      {connection === 'lost' ? (
        <div className={css.lost}>
          <Icon name="warning" />
          The server cannot be reached. What you see may be old; the page reconnects by itself.
        </div>
      ) : null}
      {tenant === null ? null : <PastState tenant={tenant} />}
      {tenant === null || protection === 'none' ? null : (
        <div className={css.production}>
          <Icon name="lock" />
          <span>
            {protection === 'locked'
              ? 'Production: this tenant is read-only.'
              : 'Production: changes are unlocked in this tab.'}
          </span>
          <Button kind="quiet" onClick={() => unlock(tenant, protection === 'locked')}>
            {protection === 'locked' ? 'Unlock for this session' : 'Lock'}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The tenant was restored to be looked at. It is a guess from the name, so that a paused tenant has to agree. */
function PastState({tenant}: {tenant: string}) {
  const look = lookOf(tenant);
  const may = useMay();
  const isPossible = look !== null && may('tenants.status');
  const status = useOperation('tenants.status', {tenant}, {enabled: isPossible});
  const [, navigate] = useLocation();
  if (look === null || status.data?.tenant.state !== 'paused') return null;
  return (
    <div className={css.production}>
      <Icon name="backups" />
      <span>
        {look.of} as it was at <Time at={look.at} form="full" />. Read-only.
      </span>
      <OperationButton
        operation="tenants.delete"
        input={{tenant}}
        refresh={['tenants.overview']}
        done={`Removed ${tenant}`}
        onDone={() => navigate('/tenants')}
        kind="quiet"
        question={{title: `Remove ${tenant}`, text: `${tenant} is a restored copy. ${look.of} and its backup stay.`}}
      >
        Remove
      </OperationButton>
    </div>
  );
}
