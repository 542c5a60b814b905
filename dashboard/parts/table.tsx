/** A dense table. On a narrow screen it scrolls inside of its own frame. */
import type {ReactNode} from 'react';
import css from './table.module.css';

export type Column<Row> = {
  readonly title: string;
  /** Says nothing to look at: a column of buttons. */
  readonly isTitleHidden?: boolean;
  readonly align?: 'end';
  /** Takes what is left of the width and cuts its text. */
  readonly grows?: true;
  cell(row: Row): ReactNode;
};

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  /** What the table lists, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string | number;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard
    <section className={css.frame} aria-label={label} tabIndex={0}>
      <table className={css.table}>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column.title} scope="col" className={classOf(column)}>
                <span className={column.isTitleHidden ? css.unseen : undefined}>{column.title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {columns.map(column => (
                <td key={column.title} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function classOf<Row>({align, grows}: Column<Row>): string {
  return [align === 'end' ? css.end : '', grows ? css.grows : ''].join(' ');
}
