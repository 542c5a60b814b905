/** What can be done with a tenant as a whole. */
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {Menu} from '../../parts/menu.tsx';
import type {TenantStatus} from '../../parts/tenant-state.tsx';
import {showToast} from '../../parts/toast.tsx';
import {durationText} from '../../parts/values.tsx';

const LISTS = ['tenants.overview', 'tenants.status'] as const;

export function TenantMenu({tenant: {id, state}, onDelete}: {tenant: TenantStatus; onDelete(): void}) {
  const may = useMay();
  const wake = useChange('tenants.wake', LISTS);
  const sleep = useChange('tenants.sleep', LISTS);
  const pause = useChange('tenants.pause', LISTS);
  const resume = useChange('tenants.resume', LISTS);
  const onError = (error: Error) => showToast(messageOf(error), {tone: 'bad'});
  const said = (text: string) => ({onSuccess: () => showToast(text), onError});
  const unpause = () => resume.mutate({tenant: id}, said(`${id} is resumed`));
  const mayNot = !may('tenants.pause');
  return (
    <Menu
      label={`Actions of ${id}`}
      items={[
        {
          label: 'Wake',
          disabled: mayNot || state === 'awake' || state === 'paused',
          onSelect: () =>
            wake.mutate(
              {tenant: id},
              {onSuccess: ({took_ms}) => showToast(`${id} is awake after ${durationText(took_ms)}`), onError},
            ),
        },
        {
          label: 'Sleep',
          disabled: mayNot || state !== 'awake',
          onSelect: () => sleep.mutate({tenant: id}, said(`${id} is asleep`)),
        },
        state === 'paused'
          ? {label: 'Resume', disabled: mayNot, onSelect: unpause}
          : {
              label: 'Pause',
              disabled: mayNot,
              onSelect: () =>
                pause.mutate(
                  {tenant: id},
                  {onSuccess: () => showToast(`${id} is paused: its requests are refused`, {undo: unpause}), onError},
                ),
            },
        {label: 'Delete', isDanger: true, disabled: !may('tenants.delete'), onSelect: onDelete},
      ]}
    />
  );
}
