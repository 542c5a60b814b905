/** Keys that work on every page. */
import {useEffect} from 'react';
import {Dialog} from '../parts/dialog.tsx';
import css from './shortcuts.module.css';

const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ['Ctrl K', 'Go to a tenant, page or table'],
  ['T', 'Go to another tenant'],
  ['/', 'Search or filter this page'],
  ['Ctrl Enter', 'Run the function that is open'],
  ['?', 'Show these keys'],
  ['Esc', 'Close what is open'],
];

type Actions = {openPalette(): void; openTenants(): void; openKeys(): void};

/** Single keys do nothing while something is typed or a dialog is open. */
export function useShortcuts({openPalette, openTenants, openKeys}: Actions): void {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      const target = event.target as HTMLElement;
      const isTyping = target.closest('input, textarea, select, [contenteditable], dialog') !== null;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const action = {t: openTenants, '?': openKeys, '/': focusSearch}[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    }
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  });
}

function focusSearch(): void {
  document.querySelector<HTMLInputElement>('#content input[type="search"]')?.focus();
}

export function KeysDialog({onClose}: {onClose(): void}) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className={css.keys}>
        {KEYS.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map(key => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
