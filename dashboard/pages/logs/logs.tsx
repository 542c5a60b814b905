/** Logs of a tenant's functions: executions that match a filter at the server, followed live. */
import {useEffect, useState} from 'react';
import {Link, useSearchParams} from 'wouter';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {Field, Select} from '../../parts/field.tsx';
import {Page, pathOf, type TenantPageProps, Toolbar} from '../../parts/page.tsx';
import {Empty, Failed, Loading} from '../../parts/states.tsx';
import {countText, plural} from '../../parts/values.tsx';
import {isFiltered, LEVELS, type LogFilter, RANGES} from './log-filter.ts';
import {LogList} from './log-list.tsx';
import {useLogTail} from './log-tail.ts';
import css from './logs.module.css';
import {RequestPage} from './request-page.tsx';

export default function Logs({tenant, rest: [part, id]}: TenantPageProps) {
  return part === 'request' && id !== undefined ? (
    <RequestPage key={id} tenant={tenant} id={id} />
  ) : (
    <LogsOfTenant tenant={tenant} />
  );
}

function LogsOfTenant({tenant}: {tenant: string}) {
  const [filter, setFilter] = useFilter();
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const tail = useLogTail(tenant, filter, isPaused || isAway);
  const {entries, waitingCount, error, hasBegun, isDetached} = tail;
  const mayRelease = !isPaused && !isAway && (waitingCount > 0 || isDetached);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the reader is back at the newest entries
  useEffect(() => {
    if (mayRelease) tail.release();
  }, [mayRelease]);
  const paths = [...new Set(entries.map(({path}) => path))].slice(0, PATHS_MAX);

  return (
    <div className={css.logs}>
      <Page
        title="Logs"
        isWide
        actions={
          <>
            {filter.request === '' ? null : (
              <Link href={pathOf(tenant, 'logs', 'request', filter.request)}>Calls and jobs of this request</Link>
            )}
            <LiveBadge
              isLive={tail.isLive}
              isPaused={isPaused}
              hasEnd={filter.range === 'between' && filter.to !== ''}
            />
            <Button icon={isPaused ? 'play' : 'pause'} aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              {isPaused ? `Continue${waitingCount === 0 ? '' : ` (${countText(waitingCount)} new)`}` : 'Pause'}
            </Button>
          </>
        }
      >
        <Toolbar>
          <Filters filter={filter} onChange={setFilter} paths={paths} />
        </Toolbar>
        {error === null ? null : <Failed error={error} retry={tail.retry} />}
        {error === null && !hasBegun ? <Loading /> : null}
        {error === null && hasBegun && entries.length === 0 ? (
          <Empty title={isFiltered(filter) ? 'No execution matches' : 'No function has run yet'} icon="logs">
            {isFiltered(filter) ? (
              <Button onClick={() => setFilter(NO_FILTER)}>Remove all filters</Button>
            ) : (
              'Executions appear here as they end. Run one on the page Functions.'
            )}
          </Empty>
        ) : null}
        {entries.length === 0 ? null : (
          <div className={css.frame}>
            {isAway && !isPaused && waitingCount > 0 ? (
              <Button className={css.news} onClick={() => setAway(false)}>
                {plural(waitingCount, 'new execution')}
              </Button>
            ) : null}
            <LogList
              tenant={tenant}
              entries={entries}
              isReadingOlder={tail.isReadingOlder}
              hasOlder={tail.hasOlder}
              isAway={isAway}
              onScrolled={setAway}
              onOlder={tail.readOlder}
              onPath={path => setFilter({...filter, path})}
            />
          </div>
        )}
      </Page>
    </div>
  );
}

/** Functions that the field of the function suggests. */
const PATHS_MAX = 50;

const NO_FILTER: LogFilter = {
  text: '',
  path: '',
  level: '',
  outcome: '',
  request: '',
  range: '',
  from: '',
  to: '',
};
const NAMES = Object.keys(NO_FILTER) as (keyof LogFilter)[];

/** The filter is in the URL, so that a link shows what its sender saw. */
function useFilter(): [filter: LogFilter, set: (filter: LogFilter) => void] {
  const [search, setSearch] = useSearchParams();
  const filter = Object.fromEntries(NAMES.map(name => [name, search.get(name) ?? ''])) as LogFilter;
  const set = (after: LogFilter) =>
    setSearch(new URLSearchParams(NAMES.flatMap(name => (after[name] === '' ? [] : [[name, after[name]]]))), {
      replace: true,
    });
  return [filter, set];
}

function Filters({
  filter,
  onChange,
  paths,
}: {
  filter: LogFilter;
  onChange(filter: LogFilter): void;
  paths: readonly string[];
}) {
  const part = (name: keyof LogFilter) => ({
    value: filter[name],
    onChange: (event: {target: {value: string}}) => onChange({...filter, [name]: event.target.value}),
  });
  return (
    <>
      <Field label="Text" type="search" placeholder="In messages, errors and names" {...part('text')} />
      <Field label="Function" type="search" placeholder="messages:list" list="log-paths" {...part('path')} />
      <datalist id="log-paths">
        {paths.map(path => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <Select label="Level" {...part('level')} options={[['', 'All'], ...LEVELS.map(one => [one, one] as const)]} />
      <Select
        label="Outcome"
        {...part('outcome')}
        options={[
          ['', 'All'],
          ['success', 'Success'],
          ['error', 'Error'],
        ]}
      />
      <Select
        label="Time"
        {...part('range')}
        options={[['', 'Any'], ...RANGES.map(([id, title]) => [id, title] as const), ['between', 'Between']]}
      />
      {filter.range === 'between' ? (
        <>
          <Field label="From" type="datetime-local" step={1} {...part('from')} />
          <Field label="To" type="datetime-local" step={1} {...part('to')} />
        </>
      ) : null}
      <Field label="Request" type="search" placeholder="Request id" {...part('request')} />
    </>
  );
}

function LiveBadge({isLive, isPaused, hasEnd}: {isLive: boolean; isPaused: boolean; hasEnd: boolean}) {
  if (isPaused) return <Badge tone="warn">paused</Badge>;
  if (hasEnd) return <Badge>until a time</Badge>;
  return isLive ? <Badge tone="good">live</Badge> : <Badge>connecting</Badge>;
}
