/** Asks before an action; one that destroys something wants the name of it typed. */
import {type ReactNode, useState} from 'react';
import {Button} from './button.tsx';
import {Dialog} from './dialog.tsx';
import {Field} from './field.tsx';

export function ConfirmDialog({
  title,
  text,
  name,
  action,
  isBusy,
  onConfirm,
  onClose,
}: {
  title: string;
  text: ReactNode;
  name?: string;
  /** What the button says. */
  action: string;
  isBusy: boolean;
  onConfirm(): void;
  onClose(): void;
}) {
  const [typed, setTyped] = useState('');
  const isReady = name === undefined || typed === name;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => isReady && !isBusy && onConfirm()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={name === undefined ? 'primary' : 'danger'} disabled={!isReady} isBusy={isBusy}>
            {action}
          </Button>
        </>
      }
    >
      <div>{text}</div>
      {name === undefined ? null : (
        <Field label={`Type ${name} to confirm`} value={typed} onChange={event => setTyped(event.target.value)} />
      )}
    </Dialog>
  );
}
