/** A button that opens a list of actions: the browser's popover, moved through with the arrow keys. */
import {type KeyboardEvent, type ReactNode, useId, useRef} from 'react';
import {Button} from './button.tsx';
import type {IconName} from './icon.tsx';
import css from './menu.module.css';

export type MenuItem = {
  readonly label: string;
  readonly isDanger?: boolean;
  readonly disabled?: boolean;
  onSelect(): void;
};

const GAP_PX = 4;

export function Menu({
  label,
  icon = 'more',
  items,
  children,
}: {
  label: string;
  icon?: IconName;
  items: readonly MenuItem[];
  children?: ReactNode;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  function place(): void {
    const from = button.current!.getBoundingClientRect();
    const menu = list.current!;
    const {offsetWidth: width, offsetHeight: height} = menu;
    const isBelow = from.bottom + GAP_PX + height <= innerHeight || from.top < height;
    menu.style.top = `${isBelow ? from.bottom + GAP_PX : from.top - GAP_PX - height}px`;
    menu.style.left = `${Math.max(GAP_PX, Math.min(from.right - width, innerWidth - width - GAP_PX))}px`;
    menu.querySelector('button')?.focus();
  }

  function move(event: KeyboardEvent): void {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const buttons = [...list.current!.querySelectorAll<HTMLButtonElement>('button:not(:disabled)')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  }

  return (
    <>
      <Button
        ref={button}
        kind="quiet"
        icon={icon}
        aria-label={label}
        aria-haspopup="menu"
        title={label}
        popoverTarget={id}
      >
        {children}
      </Button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        className={css.menu}
        onKeyDown={move}
        onToggle={event => event.newState === 'open' && place()}
      >
        {items.map(({label: text, isDanger, disabled, onSelect}) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            disabled={disabled}
            className={isDanger ? css.danger : css.item}
            onClick={() => {
              list.current!.hidePopover();
              onSelect();
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  );
}
