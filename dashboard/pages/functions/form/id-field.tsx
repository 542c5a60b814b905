/** An id: typed, or chosen among the newest documents of its table. It says whether the document exists. */
import {useEffect, useState} from 'react';
import {createPortal} from 'react-dom';
import {Link} from 'wouter';
import {useOperation} from '../../../api/queries.ts';
import {useMay} from '../../../api/session.ts';
import {ID_CHOICES_MAX, TYPING_PAUSE_MS} from '../../../limits.ts';
import {Button} from '../../../parts/button.tsx';
import {Dialog} from '../../../parts/dialog.tsx';
import {Field} from '../../../parts/field.tsx';
import {pathOf} from '../../../parts/page.tsx';
import {Empty, Loaded} from '../../../parts/states.tsx';
import css from './form.module.css';

type IdFieldProps = {
  readonly tenant: string;
  readonly table: string;
  readonly label: string;
  readonly value: string;
  readonly fault: string | null;
  /** While it is empty. */
  readonly hint?: string;
  onChange(id: string): void;
};

export function IdField({tenant, table, label, value, fault, hint, onChange}: IdFieldProps) {
  const [isChoosing, setChoosing] = useState(false);
  const mayRead = useMay()('query.run');
  return (
    <>
      <div className={css.row}>
        <div className={css.grows}>
          <Field
            label={label}
            fault={fault}
            placeholder={`id of ${table}`}
            value={value}
            hint={mayRead && value !== '' ? <Lookup tenant={tenant} table={table} id={value} /> : hint}
            onChange={event => onChange(event.target.value.trim())}
          />
        </div>
        <div className={css.beside}>
          <Button
            icon="search"
            disabled={!mayRead}
            aria-label={`Choose ${label}`}
            title={mayRead ? `Choose a document of ${table}` : 'Needs the scope data:read'}
            onClick={() => setChoosing(true)}
          />
        </div>
      </div>
      {isChoosing
        ? createPortal(
            <ChooseDialog
              tenant={tenant}
              table={table}
              onClose={() => setChoosing(false)}
              onChoose={id => {
                onChange(id);
                setChoosing(false);
              }}
            />,
            document.body,
          )
        : null}
    </>
  );
}

/** A document as far as a line shows it. */
type Row = {readonly _id: string} & Readonly<Record<string, unknown>>;

function Lookup({tenant, table, id}: {tenant: string; table: string; id: string}) {
  const settled = useSettled(id);
  const filters = [{field: '_id', op: 'eq' as const, value: settled}];
  const found = useOperation('query.run', {tenant, body: {table, filters}}, {enabled: settled === id, keep: true});
  if (found.data === undefined || settled !== id) return '…';
  const [doc] = found.data.data as readonly Row[];
  if (doc === undefined) return `No document of ${table} has this id`;
  return (
    <>
      <Link href={`${pathOf(tenant, 'data', table)}?document=${encodeURIComponent(id)}`}>Open</Link> {summaryOf(doc)}
    </>
  );
}

function ChooseDialog({
  tenant,
  table,
  onClose,
  onChoose,
}: {
  tenant: string;
  table: string;
  onClose(): void;
  onChoose(id: string): void;
}) {
  const [search, setSearch] = useState('');
  const order = [{field: '_creationTime', direction: 'desc' as const}];
  const newest = useOperation('query.run', {tenant, body: {table, filters: [], order, limit: ID_CHOICES_MAX}});
  return (
    <Dialog title={`Choose a document of ${table}`} size="large" onClose={onClose}>
      <Field
        label="Search"
        type="search"
        value={search}
        hint={`Among the newest ${ID_CHOICES_MAX}. Find others on the Data page, and paste the id.`}
        onChange={event => setSearch(event.target.value)}
      />
      <Loaded query={newest}>
        {({data}) => {
          const rows = (data as readonly Row[]).filter(row =>
            JSON.stringify(row).toLowerCase().includes(search.toLowerCase()),
          );
          if (rows.length === 0) return <Empty title="No document is like this" />;
          return (
            <ul className={css.choices}>
              {rows.map(row => (
                <li key={row._id}>
                  <button type="button" className={css.choice} onClick={() => onChoose(row._id)}>
                    <code>{row._id}</code>
                    <span>{summaryOf(row)}</span>
                  </button>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Dialog>
  );
}

const SUMMARY_CHARS = 120;

function summaryOf(doc: Row): string {
  const own = Object.entries(doc).filter(([name]) => !name.startsWith('_'));
  const text = own.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ');
  return text.length > SUMMARY_CHARS ? `${text.slice(0, SUMMARY_CHARS)}…` : text;
}

/** The text once typing has paused. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
