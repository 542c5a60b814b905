/** Edits one cell in its place. Enter and leaving it save, Escape does not; what the schema refuses is said at once. */
import {useEffect, useRef, useState} from 'react';
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';
import css from './data.module.css';
import {cellText, cellValue, checkDocument, type Fields, ownFields} from './document-edit.ts';
import type {Doc} from './row-order.ts';
import {expectedType, type TableField} from './table-fields.ts';

export function CellEditor({
  doc,
  field,
  schema,
  onSave,
  onEnd,
}: {
  doc: Doc;
  field: TableField;
  schema: StoredTableSchema | null;
  onSave(base: Doc, fields: Fields): void;
  onEnd(): void;
}) {
  // The row can change while it is edited: the edit is of the document that was shown.
  const [base] = useState(doc);
  const type = expectedType(field);
  const before = base[field.name];
  const initial = cellText(before, type);
  const [text, setText] = useState(initial);
  const [isLeft, setLeft] = useState(false);
  const {fields, problem} = edited();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.select(), []);

  function edited(): {fields: Fields; problem: string | null} {
    const {value, problem: unread} = cellValue(text, type, before);
    const {[field.name]: _, ...others} = ownFields(base);
    const next: Fields = value === undefined ? others : {...others, [field.name]: value};
    const refused = checkDocument(schema, next).find(one => one.field === field.name || one.field === null);
    return {fields: next, problem: unread ?? refused?.message ?? null};
  }
  const finish = () => {
    if (isLeft) return;
    if (text !== initial && problem !== null) return;
    setLeft(true);
    if (text !== initial) onSave(base, fields);
    onEnd();
  };
  return (
    <>
      <input
        className={css.cellInput}
        ref={input}
        aria-label={`${field.name} of ${base._id}`}
        aria-invalid={text !== initial && problem !== null}
        title={problem ?? undefined}
        value={text}
        spellCheck={false}
        onChange={event => setText(event.target.value)}
        onClick={event => event.stopPropagation()}
        onDoubleClick={event => event.stopPropagation()}
        onBlur={() => (problem === null || text === initial ? finish() : onEnd())}
        onKeyDown={event => {
          event.stopPropagation();
          if (event.key === 'Enter') finish();
          if (event.key === 'Escape') {
            setLeft(true);
            onEnd();
          }
        }}
      />
      {text === initial || problem === null ? null : (
        <span className={css.cellProblem} role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
