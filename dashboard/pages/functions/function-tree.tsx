/** Functions by module: to choose one, and without a choice with the figures of each. */
import {Link, useLocation} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {Badge} from '../../parts/badge.tsx';
import {pathOf} from '../../parts/page.tsx';
import {Table} from '../../parts/table.tsx';
import {countText} from '../../parts/values.tsx';
import {type FunctionFigure, quantileText} from './figures.tsx';
import css from './functions.module.css';

export type FunctionEntry = AnswerOf<'functions.list'>['functions'][number];

type TreeProps = {
  readonly tenant: string;
  readonly functions: readonly FunctionEntry[];
  figureOf(path: string): FunctionFigure | null;
};

function modulesOf(functions: readonly FunctionEntry[]) {
  return [...Map.groupBy(functions, ({module}) => module)];
}

export function FunctionTree({tenant, functions, figureOf, chosen}: TreeProps & {chosen: string}) {
  const [, navigate] = useLocation();
  return (
    <ul>
      {modulesOf(functions).map(([module, entries]) => (
        <li key={module}>
          <details open>
            <summary className={css.module}>{module}</summary>
            <ul>
              {entries.map(({path, name, kind, visibility}) => {
                const figure = figureOf(path);
                return (
                  <li key={path}>
                    <button
                      type="button"
                      className={css.function}
                      aria-current={path === chosen}
                      onClick={() => navigate(pathOf(tenant, 'functions', path) + location.search)}
                    >
                      <span className={css.name}>{name}</span>
                      {figure === null || figure.errors === 0 ? null : (
                        <span className={css.errors}>{countText(figure.errors)} failed</span>
                      )}
                      {visibility === 'internal' ? <Badge>internal</Badge> : null}
                      <KindBadge kind={kind} />
                    </button>
                  </li>
                );
              })}
            </ul>
          </details>
        </li>
      ))}
    </ul>
  );
}

export function FunctionTable({tenant, functions, figureOf}: TreeProps) {
  const figure = (of: (figure: FunctionFigure) => string) => (entry: FunctionEntry) => {
    const found = figureOf(entry.path);
    return found === null ? '–' : of(found);
  };
  return (
    <>
      {modulesOf(functions).map(([module, entries]) => (
        <section key={module}>
          <h2 className={css.module}>{module}</h2>
          <Table
            label={module}
            rows={entries}
            keyOf={({path}) => path}
            columns={[
              {
                title: 'Function',
                grows: true,
                cell: ({path, name}) => <Link href={pathOf(tenant, 'functions', path) + location.search}>{name}</Link>,
              },
              {title: 'Kind', cell: ({kind}) => <KindBadge kind={kind} />},
              {title: 'Visibility', cell: ({visibility}) => visibility},
              {title: 'Calls', align: 'end', cell: figure(({calls}) => countText(calls))},
              {title: 'Errors', align: 'end', cell: figure(({errors}) => countText(errors))},
              {title: 'p50', align: 'end', cell: figure(({p50_ms}) => quantileText(p50_ms))},
              {title: 'p99', align: 'end', cell: figure(({p99_ms}) => quantileText(p99_ms))},
            ]}
          />
        </section>
      ))}
    </>
  );
}

const KINDS: Readonly<Record<FunctionEntry['kind'], string>> = {
  query: 'query',
  paginatedQuery: 'paginated query',
  mutation: 'mutation',
  action: 'action',
  httpAction: 'HTTP action',
};

export function KindBadge({kind}: {kind: FunctionEntry['kind']}) {
  const tone = kind === 'mutation' ? 'warn' : kind === 'action' || kind === 'httpAction' ? 'accent' : 'neutral';
  return <Badge tone={tone}>{KINDS[kind]}</Badge>;
}
