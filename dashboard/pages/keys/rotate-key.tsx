/** Dialog that gives a key a new secret; the one before stays valid for a while. */
import {useState} from 'react';
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Select} from '../../parts/field.tsx';

const OVERLAPS = [
  ['0', 'Not at all'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
] as const;

type RotateProps = {id: string; name: string; onClose(): void; onMade(secret: string): void};

export function RotateKey({id, name, onClose, onMade}: RotateProps) {
  const [overlap, setOverlap] = useState('3600');
  const rotate = useChange('keys.rotate', ['keys.list']);
  const submit = () =>
    rotate.mutate(
      {params: {key_id: id}, body: {overlap_seconds: Number(overlap)}},
      {
        onSuccess: ({secret}) => {
          onClose();
          onMade(secret);
        },
      },
    );
  return (
    <Dialog
      title={`Rotate ${name}`}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={rotate.isPending}>
            Make a new secret
          </Button>
        </>
      }
    >
      <Select
        label="The present secret stays valid for"
        options={OVERLAPS}
        value={overlap}
        fault={rotate.error === null ? null : messageOf(rotate.error)}
        onChange={event => setOverlap(event.target.value)}
      />
    </Dialog>
  );
}
