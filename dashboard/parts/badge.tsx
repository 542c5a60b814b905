/** A short state in a colour that has a meaning; the text says it as well. */
import type {ReactNode} from 'react';
import css from './badge.module.css';
import common from './common.module.css';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

export function Badge({tone = 'neutral', title, children}: {tone?: Tone; title?: string; children: ReactNode}) {
  return (
    <span className={[css.badge, common[tone]].join(' ')} title={title}>
      {children}
    </span>
  );
}
