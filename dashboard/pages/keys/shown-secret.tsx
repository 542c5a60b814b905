/** The secret of a new key, which can be seen this once. */
import {messageOf} from '../../api/failure.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Note} from '../../parts/states.tsx';
import {showToast} from '../../parts/toast.tsx';
import css from './keys.module.css';

export function ShownSecret({secret, onClose}: {secret: string; onClose(): void}) {
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(secret);
      showToast('Copied the secret');
    } catch (error) {
      showToast(`The browser did not copy it: ${messageOf(error)}`, {tone: 'bad'});
    }
  }
  return (
    <Dialog
      title="The new secret"
      onClose={onClose}
      onSubmit={onClose}
      actions={
        <>
          <Button icon="copy" onClick={() => void copy()}>
            Copy
          </Button>
          <Button type="submit" kind="primary">
            Done
          </Button>
        </>
      }
    >
      <Note tone="warn">It is shown this once: the server stores only its digest.</Note>
      <output className={css.secret}>{secret}</output>
      <p>
        Send it as <code>Authorization: Bearer …</code>
      </p>
    </Dialog>
  );
}
