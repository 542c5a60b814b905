/** Asks for the name of a tenant before it is deleted. */
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {ConfirmDialog} from '../../parts/confirm.tsx';
import {showToast} from '../../parts/toast.tsx';

export function DeleteTenant({id, onClose}: {id: string; onClose(): void}) {
  const remove = useChange('tenants.delete', ['tenants.overview']);
  const confirm = () =>
    remove.mutate(
      {tenant: id},
      {
        onSuccess: () => showToast(`Deleted ${id}`),
        onError: error => showToast(messageOf(error), {tone: 'bad'}),
        onSettled: onClose,
      },
    );
  return (
    <ConfirmDialog
      title={`Delete ${id}`}
      text="Deletes the tenant with all its documents, code, schedules and its journal. This cannot be undone."
      name={id}
      action="Delete"
      isBusy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    />
  );
}
