/** One document beside the rows: as JSON, with its history and the documents that refer to it. */
import {useQuery} from '@tanstack/react-query';
import {lazy, Suspense, useEffect, useMemo, useState} from 'react';
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {call} from '../../api/client.ts';
import {ApiFailure} from '../../api/failure.ts';
import {useMay} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {Failed, Loading, Note} from '../../parts/states.tsx';
import {showToast} from '../../parts/toast.tsx';
import {Time} from '../../parts/values.tsx';
import css from './document.module.css';
import {checkDocument, type Fields, isSame, ownFields, parseDocument, versionOf} from './document-edit.ts';
import type {Edits} from './edits.ts';
import {History} from './history.tsx';
import {liveClient} from './live-client.ts';
import {References} from './references.tsx';
import type {Doc} from './row-order.ts';

const JsonEditor = lazy(() => import('./json-editor.tsx'));

/** In the URL instead of an id: a document that is not there yet. */
export const NEW_DOCUMENT = '+';

const TABS = ['JSON', 'History', 'References'] as const;

type PanelProps = {
  tenant: string;
  table: string;
  id: string;
  schema: StoredTableSchema | null;
  edits: Edits;
  onOpen(id: string): void;
};

export function DocumentPanel(props: PanelProps) {
  const {tenant, table, id, onOpen} = props;
  const isNew = id === NEW_DOCUMENT;
  const found = useLiveDocument(tenant, table, isNew ? '' : id);
  const [tab, setTab] = useState<(typeof TABS)[number]>('JSON');
  return (
    <aside
      className={css.panel}
      aria-label={isNew ? 'New document' : `Document ${id}`}
      onKeyDown={event => event.key === 'Escape' && onOpen('')}
    >
      <header className={css.head}>
        <h2>{isNew ? 'New document' : id}</h2>
        {isNew ? null : (
          <Button
            kind="quiet"
            icon="copy"
            aria-label="Copy the id"
            onClick={() => void navigator.clipboard.writeText(id).then(() => showToast('Copied the id'))}
          />
        )}
        <Button kind="quiet" icon="close" aria-label="Close the document" onClick={() => onOpen('')} />
      </header>
      {isNew ? (
        <Editor {...props} doc={null} />
      ) : found.isMissing ? (
        <>
          <Note tone="warn">There is no document with this id now.</Note>
          <History {...props} doc={null} />
        </>
      ) : found.error !== null ? (
        <Failed error={found.error} />
      ) : found.doc === undefined ? (
        <Loading label="Loading the document" />
      ) : (
        <>
          {found.isGone ? <Note tone="warn">This document was deleted. What you see is its last version.</Note> : null}
          <div className={css.tabs} role="tablist">
            {TABS.map(name => (
              <button
                key={name}
                type="button"
                role="tab"
                className={css.tab}
                aria-selected={name === tab}
                onClick={() => setTab(name)}
              >
                {name}
              </button>
            ))}
          </div>
          {tab === 'JSON' ? <Editor {...props} doc={found.doc} /> : null}
          {tab === 'History' ? <History {...props} doc={found.isGone ? null : found.doc} /> : null}
          {tab === 'References' ? <References tenant={tenant} id={id} /> : null}
        </>
      )}
    </aside>
  );
}

/** The document, kept current by a live query. */
function useLiveDocument(tenant: string, table: string, id: string) {
  const first = useQuery({
    queryKey: ['documents.get', {tenant}, table, id],
    enabled: id !== '',
    queryFn: async ({signal}) => {
      const {document} = await call('documents.get', {tenant, params: {table, document_id: id}}, {signal});
      return document as unknown as Doc;
    },
  });
  const [live, setLive] = useState<{id: string; doc: Doc | undefined} | null>(null);
  useEffect(() => {
    if (id === '') return;
    const query = {filters: [{field: '_id' as const, op: 'eq' as const, value: id}]};
    return liveClient(tenant).live(table, query, ([doc]) => setLive({id, doc: doc as Doc | undefined}), {
      onError: () => setLive(null),
    });
  }, [tenant, table, id]);
  const current = live?.id === id ? live : null;
  const isMissing = first.error instanceof ApiFailure && first.error.code === 'op.not_found';
  return {
    doc: current?.doc ?? first.data,
    isGone: current !== null && current.doc === undefined,
    isMissing: isMissing && current?.doc === undefined,
    error: isMissing ? null : first.error,
  };
}

function textOf(doc: Doc | null): string {
  return doc === null ? '{\n  \n}' : JSON.stringify(ownFields(doc), null, 2);
}

function Editor({doc, schema, edits, onOpen}: PanelProps & {doc: Doc | null}) {
  // The document that is edited: it stays when others write, and the save then is a conflict.
  const [base, setBase] = useState(doc);
  const [text, setText] = useState(textOf(doc));
  const [isSaving, setSaving] = useState(false);
  const may = useMay();
  const {fields, problem} = useMemo(() => parseDocument(text), [text]);
  const isChanged = fields === null || !isSame(fields, base === null ? {} : ownFields(base));
  const isBehind = doc !== null && base !== null && versionOf(doc) !== versionOf(base);
  if (isBehind && !isChanged) {
    setBase(doc);
    setText(textOf(doc));
  }
  const problems = fields === null ? [] : checkDocument(schema, fields);
  const canSave = isChanged && fields !== null && problems.length === 0 && may('documents.patch');

  async function save(saved: Fields): Promise<void> {
    setSaving(true);
    if (base === null) {
      const id = await edits.insert(saved);
      if (id !== null) onOpen(id);
    } else if (await edits.save(base, saved)) setText(JSON.stringify(saved, null, 2));
    setSaving(false);
  }

  return (
    <>
      <div className={css.edit}>
        <Suspense fallback={<Loading label="Loading the editor" />}>
          <JsonEditor
            text={text}
            label="The document as JSON"
            onChange={setText}
            onSave={() => canSave && void save(fields)}
          />
        </Suspense>
      </div>
      {isBehind && isChanged ? (
        <Note tone="warn">
          Another writer changed this document.{' '}
          <Button
            kind="quiet"
            onClick={() => {
              setBase(doc);
              setText(textOf(doc));
            }}
          >
            Show theirs
          </Button>
        </Note>
      ) : null}
      {problem === null && problems.length === 0 ? null : (
        <ul className={css.problems} role="alert">
          {problem === null ? null : <li>{problem}</li>}
          {problems.map(({field, message}) => (
            <li key={`${field} ${message}`}>
              {field === null ? null : <code>{field}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {doc === null ? null : (
        <p className={css.times}>
          Created <Time at={doc._creationTime} form="full" />, changed <Time at={doc._updateTime} />
        </p>
      )}
      <footer className={css.actions}>
        <Button kind="primary" disabled={!canSave} isBusy={isSaving} onClick={() => fields && void save(fields)}>
          {base === null ? 'Insert' : 'Save'}
        </Button>
        <Button disabled={!isChanged} onClick={() => setText(textOf(base))}>
          Revert
        </Button>
        {doc === null ? null : (
          <Button
            kind="danger"
            disabled={!may('documents.delete')}
            onClick={async () => {
              if (await edits.remove(doc)) onOpen('');
            }}
          >
            Delete
          </Button>
        )}
      </footer>
    </>
  );
}
