/** A modal dialog: the browser's own, which holds the focus, closes on Escape and gives the focus back. */
import {type ReactNode, useEffect, useId, useRef} from 'react';
import {Button} from './button.tsx';
import css from './dialog.module.css';

type DialogProps = {
  title: string;
  onClose(): void;
  /** The buttons of its end. */
  actions?: ReactNode;
  /** The content is sent by Enter and by a button of type `submit`. */
  onSubmit?: () => void;
  size?: 'small' | 'large';
  children: ReactNode;
};

export function Dialog({title, onClose, actions, onSubmit, size = 'small', children}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // The browser would choose the button that closes it.
    dialog?.querySelector<HTMLElement>('input:not([readonly]), textarea, select, output, footer button')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={[css.dialog, css[size]].join(' ')}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
    >
      <form
        method="dialog"
        className={css.form}
        onSubmit={event => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        <header className={css.head}>
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" aria-label="Close" onClick={onClose} />
        </header>
        <div className={css.body}>{children}</div>
        {actions === undefined ? null : <footer className={css.actions}>{actions}</footer>}
      </form>
    </dialog>
  );
}
