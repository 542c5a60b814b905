/** What a write changed in a document, field by field. */
import css from './document.module.css';
import {differences, ownFields} from './document-edit.ts';
import type {Doc} from './row-order.ts';
import {Shown} from './shown.tsx';

export function FieldChanges({before, after}: {before: Doc; after: Doc}) {
  const fields = ownFields(before);
  const changed = differences(fields, ownFields(after), fields);
  if (changed.length === 0) return <p className={css.absent}>No field has another value.</p>;
  return (
    <dl className={css.changes}>
      {changed.map(({field, base, mine}) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {base === undefined ? (
              'added '
            ) : (
              <del>
                <Shown value={base} />
              </del>
            )}{' '}
            {mine === undefined ? (
              ' removed'
            ) : (
              <ins>
                <Shown value={mine} />
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
