/** A value in a cell: on one line, by its type. Text that has the form of an id is a link. */
import {memo} from 'react';
import type {Value} from '../../../shared/values/value.ts';
import {Time} from '../../parts/values.tsx';
import css from './data.module.css';

const CELL_CHARS_MAX = 120;
/** As the server makes ids: 32 of these characters. */
const ID = /^[0-9a-hj-km-np-tv-z]{32}$/;

export const CellValue = memo(function CellValue({
  value,
  isTime = false,
  onId,
}: {
  value: Value | undefined;
  isTime?: boolean;
  onId(id: string): void;
}) {
  if (value === undefined) return <span className={css.absent} />;
  if (value === null) return <span className={css.none}>null</span>;
  if (isTime && typeof value === 'number') return <Time at={value} form="full" />;
  if (typeof value === 'number') return <span className={css.number}>{String(value)}</span>;
  if (typeof value === 'boolean') return <span className={css.word}>{String(value)}</span>;
  if (typeof value !== 'string')
    return <span className={css.json}>{JSON.stringify(value).slice(0, CELL_CHARS_MAX)}</span>;
  if (!ID.test(value)) return <span>{value.slice(0, CELL_CHARS_MAX)}</span>;
  return (
    <button
      type="button"
      tabIndex={-1}
      className={css.id}
      title="Open this document"
      onClick={event => {
        event.stopPropagation();
        onId(value);
      }}
    >
      {value}
    </button>
  );
});
