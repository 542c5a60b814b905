/** Short messages after an action, with a way to undo it where there is one. */
import {useSyncExternalStore} from 'react';
import {TOAST_MS, TOAST_WITH_ACTION_MS, TOASTS_MAX} from '../limits.ts';
import {Button} from './button.tsx';
import css from './toast.module.css';

type Toast = {
  readonly id: number;
  readonly text: string;
  readonly tone: 'good' | 'bad';
  readonly undo?: () => void;
};

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function remove(id: number): void {
  set(toasts.filter(toast => toast.id !== id));
}

/** @param undo takes back what was done; the toast then has a button for it */
export function showToast(text: string, {tone = 'good', undo}: {tone?: 'good' | 'bad'; undo?: () => void} = {}): void {
  const id = ++lastId;
  const toast = {id, text, tone, ...(undo === undefined ? {} : {undo})};
  set([...toasts, toast].slice(-TOASTS_MAX));
  setTimeout(() => remove(id), undo === undefined && tone === 'good' ? TOAST_MS : TOAST_WITH_ACTION_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {shown.map(({id, text, tone, undo}) => (
        <div key={id} className={[css.toast, css[tone]].join(' ')}>
          <span className={css.text}>{text}</span>
          {undo === undefined ? null : (
            <Button
              kind="quiet"
              onClick={() => {
                remove(id);
                undo();
              }}
            >
              Undo
            </Button>
          )}
          <Button kind="quiet" icon="close" aria-label="Dismiss" onClick={() => remove(id)} />
        </div>
      ))}
    </div>
  );
}
