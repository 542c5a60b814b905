/** Restores a tenant to a point in time, as a new tenant: to be used, or to be looked at. */
import {useState} from 'react';
import {useLocation} from 'wouter';
import {messageOf} from '../../api/failure.ts';
import {useChange, useOperation} from '../../api/queries.ts';
import {RESTORE_MS_MAX} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Check, Field} from '../../parts/field.tsx';
import {lookName} from '../../parts/look.ts';
import {pathOf} from '../../parts/page.tsx';
import {Loaded, Note} from '../../parts/states.tsx';
import {showToast} from '../../parts/toast.tsx';
import {countText, Time} from '../../parts/values.tsx';
import {type BackupPoint, type Choice, endOf} from './points.ts';

export type Purpose = 'look' | 'restore';

const TEXTS = {
  look: {title: 'Look at a past state', action: 'Restore and open'},
  restore: {title: 'Restore into a new tenant', action: 'Restore'},
} as const;

export function RestoreDialog({
  tenant,
  purpose,
  initial,
  onClose,
}: {
  tenant: string;
  purpose: Purpose;
  initial: Choice;
  onClose(): void;
}) {
  const [choice, setChoice] = useState(initial);
  const [name, setName] = useState(`${tenant}-restored`);
  const [isLive, setLive] = useState(false);
  const end = endOf(choice.text);
  const query = end === null ? {} : {before: end + 1};
  const found = useOperation('backup.points', {tenant, query}, {enabled: choice.point === null && end !== null});
  const restore = useChange('tenants.restore', ['tenants.overview'], {timeoutMs: RESTORE_MS_MAX});
  const [, navigate] = useLocation();
  const point = choice.point ?? (end === null ? null : (found.data?.points[0] ?? null));
  const as = purpose === 'restore' ? name : point === null ? '' : lookName(tenant, point.at);

  const submit = () => {
    if (point === null || as === '' || restore.isPending) return;
    restore.mutate(
      {tenant, query: {to_sequence: point.sequence, as, live: purpose === 'restore' && isLive ? 'true' : 'false'}},
      {
        onSuccess: ({gap}) => {
          if (gap === null) showToast(`Restored ${as}`);
          else showToast(`Restored ${as}: ${gap.finding}`, {tone: 'bad'});
          onClose();
          navigate(pathOf(as, purpose === 'look' ? 'data' : 'overview'));
        },
      },
    );
  };
  const {title, action} = TEXTS[purpose];
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={point === null || as === ''} isBusy={restore.isPending}>
            {action}
          </Button>
        </>
      }
    >
      <Field
        label="Time"
        type="datetime-local"
        step={1}
        value={choice.text}
        hint="Your local time. The newest commit at or before it is restored."
        fault={end === null ? 'Type a date and a time' : null}
        onChange={event => setChoice({text: event.target.value, point: null})}
      />
      {end === null ? null : choice.point !== null ? (
        <Chosen point={choice.point} />
      ) : (
        <Loaded query={found}>
          {({points: [newest]}) =>
            newest === undefined ? (
              <Note tone="warn">There is no copy from that time or earlier.</Note>
            ) : (
              <Chosen point={newest} />
            )
          }
        </Loaded>
      )}
      {purpose === 'look' ? (
        <p>
          The new tenant {as === '' ? '' : <code>{as}</code>} is read-only and runs no jobs, crons or services. Remove
          it when you have seen it.
        </p>
      ) : (
        <>
          <Field label="Tenant id" value={name} onChange={event => setName(event.target.value)} />
          <Check
            label="Start it at once"
            hint="Otherwise it answers reads only and runs no jobs, crons or services until you resume it."
            checked={isLive}
            onChange={event => setLive(event.target.checked)}
          />
        </>
      )}
      {restore.error === null ? null : <Note tone="bad">{messageOf(restore.error)}</Note>}
    </Dialog>
  );
}

function Chosen({point: {at, sequence}}: {point: BackupPoint}) {
  return (
    <p role="status">
      Restores the commit of <Time at={at} form="full" />, journal record {countText(sequence)}.
    </p>
  );
}
