/** Lines above a page: the connection is lost, the tenant is read-only. */
import {useConnection} from '../api/connection.ts';
import {unlock, useProtection} from '../api/production.ts';
import {Button} from '../parts/button.tsx';
import {Icon} from '../parts/icon.tsx';
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
