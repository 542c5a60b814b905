/** An edit and what another writer wrote meanwhile, side by side. */

import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import css from './document.module.css';
import {differences, onTop, ownFields} from './document-edit.ts';
import type {Edits} from './edits.ts';
import {Shown} from './shown.tsx';

export function ConflictDialog({edits}: {edits: Edits}) {
  const {conflict} = edits;
  if (conflict === null) return null;
  const {base, mine, theirs} = conflict;
  const [before, after] = [ownFields(base), ownFields(theirs)];
  return (
    <Dialog
      size="large"
      title="This document changed while you edited it"
      onClose={edits.dismiss}
      onSubmit={() => void edits.resolve(onTop(before, mine, after))}
      actions={
        <>
          <Button onClick={edits.dismiss}>Keep theirs</Button>
          <Button type="submit" kind="primary">
            Save mine on top
          </Button>
        </>
      }
    >
      <p>
        Nothing is lost yet. “Save mine on top” writes only the fields that you changed; the others stay as the other
        writer left them.
      </p>
      <table className={css.differences}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">Yours</th>
            <th scope="col">Theirs</th>
          </tr>
        </thead>
        <tbody>
          {differences(before, mine, after).map(one => (
            <tr key={one.field} data-conflict={one.isConflict || undefined}>
              <th scope="row">
                {one.field} {one.isConflict ? <Badge tone="warn">both</Badge> : null}
              </th>
              {[one.base, one.mine, one.theirs].map((value, i) => (
                <td key={['base', 'mine', 'theirs'][i]}>
                  <Shown value={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
