/** Buttons: plain, primary for the main action of a view, danger for what cannot be undone, quiet inside of rows. */
import type {ButtonHTMLAttributes, ReactNode, Ref} from 'react';
import css from './button.module.css';
import {Icon, type IconName} from './icon.tsx';

export type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet';

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  kind?: ButtonKind;
  icon?: IconName;
  /** Shows that its work has not ended; it cannot be pressed meanwhile. */
  isBusy?: boolean;
  ref?: Ref<HTMLButtonElement>;
  children?: ReactNode;
};

export function Button({kind = 'plain', icon, isBusy = false, children, disabled, className, ...rest}: ButtonProps) {
  const isSquare = children === undefined;
  return (
    <button
      type="button"
      {...rest}
      className={[css.button, css[kind], isSquare ? css.square : '', className ?? ''].join(' ')}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
