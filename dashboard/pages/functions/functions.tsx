/** Functions of the active deployment by module with their figures, and a way to run one. */
import {useState} from 'react';
import {Link, useLocation} from 'wouter';
import {useOperation} from '../../api/queries.ts';
import {useSession} from '../../api/session.ts';
import {SearchField, Select} from '../../parts/field.tsx';
import {Page, pathOf, type TenantPageProps, Toolbar, useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {useFunctionFigures} from './figures.tsx';
import {FunctionTable, FunctionTree} from './function-tree.tsx';
import css from './functions.module.css';
import {PastRuns} from './past-runs.tsx';
import type {RunAs} from './run-as.tsx';
import {RunFunction} from './run-function.tsx';
import {pastRuns} from './run-history.ts';

export default function Functions({tenant, rest}: TenantPageProps) {
  const functions = useOperation('functions.list', {tenant});
  const [search, setSearch] = useUrlState('search');
  const [hours, setHours] = useUrlState('hours', '1');
  const [as, setAs] = useState<RunAs>(null);
  const session = useSession();
  const [, navigate] = useLocation();
  const figureOf = useFunctionFigures(tenant, hours === '24' ? 24 : 1);
  const path = rest[0];
  const searchField = <SearchField label="Search functions" value={search} onSearch={setSearch} />;
  return (
    <Page
      title="Functions"
      isWide
      actions={
        <Select
          label="Figures of"
          isLabelHidden
          value={hours === '24' ? hours : '1'}
          onChange={event => setHours(event.target.value)}
          options={[
            ['1', 'Last hour'],
            ['24', 'Last 24 hours'],
          ]}
        />
      }
    >
      <Loaded query={functions}>
        {({functions: all}) => {
          if (all.length === 0)
            return (
              <Empty title="No functions are deployed" icon="functions">
                Run <code>svc init</code> to make an app, then <code>svc deploy --tenant {tenant}</code> in it.
              </Empty>
            );
          const found = all.filter(entry => entry.path.toLowerCase().includes(search.toLowerCase()));
          const shown = {tenant, functions: found, figureOf};
          if (path === undefined) {
            return (
              <>
                <Toolbar>{searchField}</Toolbar>
                {found.length === 0 ? <Empty title="No function has such a name" /> : <FunctionTable {...shown} />}
                <PastRuns
                  runs={pastRuns(tenant, session.id)}
                  hasPath
                  onShow={({id, path: of}) => navigate(`${pathOf(tenant, 'functions', of)}?run=${id}`)}
                />
              </>
            );
          }
          const chosen = all.find(entry => entry.path === path);
          return (
            <div className={css.columns}>
              <div className={css.tree}>
                <Link href={pathOf(tenant, 'functions') + location.search}>All functions</Link>
                {searchField}
                <FunctionTree {...shown} chosen={path} />
              </div>
              {chosen === undefined ? (
                <Empty title={`There is no ${path}`}>The active deployment has no function of this name.</Empty>
              ) : (
                <RunFunction
                  key={chosen.path}
                  tenant={tenant}
                  entry={chosen}
                  figure={figureOf(chosen.path)}
                  as={as}
                  onAs={setAs}
                />
              )}
            </div>
          );
        }}
      </Loaded>
    </Page>
  );
}
