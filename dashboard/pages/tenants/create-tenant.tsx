/** Dialog for a new tenant. */
import {useState} from 'react';
import {useLocation} from 'wouter';
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Field} from '../../parts/field.tsx';
import {pathOf} from '../../parts/page.tsx';
import {showToast} from '../../parts/toast.tsx';

export function CreateTenant({onClose}: {onClose(): void}) {
  const [id, setId] = useState('');
  const create = useChange('tenants.create', ['tenants.overview']);
  const [, navigate] = useLocation();

  const submit = () =>
    create.mutate(
      {body: {id}},
      {
        onSuccess: () => {
          showToast(`Created ${id}`);
          navigate(pathOf(id, 'overview'));
        },
      },
    );
  return (
    <Dialog
      title="New tenant"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={id === ''} isBusy={create.isPending}>
            Create
          </Button>
        </>
      }
    >
      <Field
        label="Tenant id"
        autoFocus
        value={id}
        hint="Letters, digits, - and _; it begins with a letter or digit and is part of every URL."
        fault={create.error === null ? null : messageOf(create.error)}
        onChange={event => setId(event.target.value)}
      />
    </Dialog>
  );
}
