/** Functions of the active deployment by module, and a way to run one. */
import {useLocation} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {Badge} from '../../parts/badge.tsx';
import {Field} from '../../parts/field.tsx';
import {Page, pathOf, type TenantPageProps, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import css from './functions.module.css';
import {type FunctionEntry, RunFunction} from './run-function.tsx';

export default function Functions({tenant, rest}: TenantPageProps) {
  const functions = useOperation('functions.list', {tenant});
  const [search, setSearch] = useUrlState('search');
  return (
    <Page title="Functions" isWide>
      <Loaded query={functions}>
        {({functions: all}) => {
          if (all.length === 0)
            return (
              <Empty title="No functions are deployed" icon="functions">
                Run <code>npx svc init</code> in a project, then <code>npx svc deploy --tenant {tenant}</code>.
              </Empty>
            );
          const chosen = all.find(({path}) => path === rest[0]);
          const found = all.filter(({path}) => path.toLowerCase().includes(search.toLowerCase()));
          return (
            <div className={css.columns}>
              <div className={css.tree}>
                <Field
                  label="Search functions"
                  isLabelHidden
                  type="search"
                  placeholder="Search functions"
                  value={search}
                  onChange={event => setSearch(event.target.value)}
                />
                <Tree tenant={tenant} functions={found} chosen={chosen ?? null} />
              </div>
              {chosen === undefined ? (
                <Empty title={rest[0] === undefined ? 'Choose a function' : `There is no ${rest[0]}`}>
                  Its arguments, and a way to run it, appear here.
                </Empty>
              ) : (
                <RunFunction key={chosen.path} tenant={tenant} entry={chosen} />
              )}
            </div>
          );
        }}
      </Loaded>
    </Page>
  );
}

type TreeProps = {tenant: string; functions: readonly FunctionEntry[]; chosen: FunctionEntry | null};

function Tree({tenant, functions, chosen}: TreeProps) {
  const [, navigate] = useLocation();
  const modules = [...Map.groupBy(functions, ({module}) => module)];
  return (
    <ul>
      {modules.map(([module, entries]) => (
        <li key={module}>
          <div className={css.module}>{module}</div>
          <ul>
            {entries.map(({path, name, kind, visibility}) => (
              <li key={path}>
                <button
                  type="button"
                  className={css.function}
                  aria-current={path === chosen?.path}
                  onClick={() => navigate(pathOf(tenant, 'functions', path) + location.search)}
                >
                  <span className={css.name}>{name}</span>
                  {visibility === 'internal' ? <Badge>internal</Badge> : null}
                  <Badge tone={kind === 'mutation' ? 'warn' : kind === 'action' ? 'accent' : 'neutral'}>{kind}</Badge>
                </button>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
