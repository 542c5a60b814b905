/** Finds tenants, pages and tables by typing: Ctrl K. As the tenant switcher it has tenants only. */
import {type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState} from 'react';
import {useLocation} from 'wouter';
import {useOperation} from '../api/queries.ts';
import {useMay} from '../api/session.ts';
import {PALETTE_ROWS_MAX} from '../limits.ts';
import {Icon, type IconName} from '../parts/icon.tsx';
import {pathOf} from '../parts/page.tsx';
import {SERVER_PAGES, TENANT_PAGES} from './pages.ts';
import css from './palette.module.css';
import type {Place} from './place.ts';

type Entry = {readonly path: string; readonly title: string; readonly kind: string; readonly icon: IconName};

export function Palette({place, only, onClose}: {place: Place; only: 'all' | 'tenants'; onClose(): void}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const id = useId();
  const entries = useEntries(place, only, useDeferredValue(text));
  const found = matching(entries, text).slice(0, PALETTE_ROWS_MAX);

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen entry has moved
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({block: 'nearest'});
  }, [at]);

  function open(entry: Entry | undefined): void {
    if (entry === undefined) return;
    onClose();
    navigate(entry.path);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') open(found[at]);
    else if (step !== 0) setAt((at + step + found.length) % Math.max(1, found.length));
    else return;
    event.preventDefault();
  }

  const label = only === 'tenants' ? 'Go to a tenant' : 'Go to a tenant, page or table';
  return (
    <dialog
      ref={dialog}
      className={css.palette}
      aria-label={label}
      onClose={onClose}
      onClick={event => event.target === dialog.current && onClose()}
      onKeyDown={event => event.key === 'Escape' && onClose()}
    >
      <div className={css.search}>
        <Icon name="search" />
        <input
          className={css.input}
          role="combobox"
          aria-label={label}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.length === 0 ? undefined : `${id}-${at}`}
          placeholder={label}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onKeyDown={onKeyDown}
          onChange={event => {
            setText(event.target.value);
            setAt(0);
          }}
        />
      </div>
      {found.length === 0 ? <p className={css.none}>Nothing has this in its name.</p> : null}
      <div ref={list} id={id} role="listbox" aria-label="Found" className={css.list} hidden={found.length === 0}>
        {found.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the input, which keeps the focus
          <div
            key={`${entry.kind} ${entry.path}`}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={css.entry}
            onClick={() => open(entry)}
            onMouseMove={() => setAt(i)}
          >
            <Icon name={entry.icon} />
            <span className={css.title}>{entry.title}</span>
            <span className={css.kind}>{entry.kind}</span>
          </div>
        ))}
      </div>
    </dialog>
  );
}

function useEntries(place: Place, only: 'all' | 'tenants', text: string): readonly Entry[] {
  const may = useMay();
  const tenant = place.kind === 'tenant' ? place.tenant : null;
  const page = place.kind === 'tenant' ? place.page.id : 'overview';
  const tenants = useOperation(
    'tenants.overview',
    {query: {search: text.trim(), limit: PALETTE_ROWS_MAX}},
    {keep: true},
  );
  const tables = useOperation(
    'tables.list',
    {tenant: tenant ?? ''},
    {enabled: tenant !== null && only === 'all' && may('tables.list')},
  );
  const ofTenants = (tenants.data?.tenants ?? []).map(({id}) => ({
    path: pathOf(id, page),
    title: id,
    kind: 'tenant',
    icon: 'tenants' as const,
  }));
  if (only === 'tenants') return ofTenants;
  const pagesOfTenant = TENANT_PAGES.flatMap(({id, title, icon, needs}) =>
    tenant !== null && may(needs) ? [{path: pathOf(tenant, id), title, kind: tenant, icon}] : [],
  );
  const hasData = TENANT_PAGES.some(({id}) => id === 'data');
  const ofTables = (tables.data?.tables ?? []).flatMap(({name}) =>
    tenant !== null && hasData
      ? [{path: pathOf(tenant, 'data', name), title: name, kind: 'table', icon: 'data' as const}]
      : [],
  );
  const pagesOfServer = SERVER_PAGES.flatMap(({id, title, icon, needs}) =>
    may(needs) ? [{path: `/${id}`, title, kind: 'server', icon}] : [],
  );
  return [...pagesOfTenant, ...ofTables, ...pagesOfServer, ...ofTenants];
}

/** Names that begin with the text come before those that only contain it. */
function matching(entries: readonly Entry[], text: string): readonly Entry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return entries;
  const ranked = entries.flatMap(entry => {
    const index = entry.title.toLowerCase().indexOf(wanted);
    return index === -1 ? [] : [{entry, rank: index === 0 ? 0 : 1}];
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({entry}) => entry);
}
