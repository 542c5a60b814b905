/** The value of a field as JSON. */
import type {Value} from '../../../shared/values/value.ts';
import css from './document.module.css';

export function Shown({value}: {value: Value | undefined}) {
  return value === undefined ? <span className={css.absent}>missing</span> : <code>{JSON.stringify(value)}</code>;
}
