/** The backup of a tenant: how old it is, when it was proven, its points in time, and past states that are open. */
import {useState} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {isLookOf, lookOf} from '../../parts/look.ts';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Facts, Page, pathOf, Section, type TenantPageProps} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {countText, Time} from '../../parts/values.tsx';
import {CopyState, LastDrill} from './copy-state.tsx';
import {NoBackup} from './no-backup.tsx';
import {type Choice, choiceOf, localText, notesOf, type PointRow, proofOf, rowsOf} from './points.ts';
import {type Purpose, RestoreDialog} from './restore-dialog.tsx';

type Points = AnswerOf<'backup.points'>;
type Opened = {purpose: Purpose; choice: Choice};

const ROWS = 50;

export default function TenantBackups({tenant}: TenantPageProps) {
  const status = useOperation('backup.status', {query: {limit: 1}}, {every: REFRESH_MS});
  return (
    <Page title="Backups">
      <Loaded query={status}>
        {({backup}) => (backup === null ? <NoBackup /> : <Backups tenant={tenant} everyMs={backup.every_ms} />)}
      </Loaded>
    </Page>
  );
}

function Backups({tenant, everyMs}: {tenant: string; everyMs: number}) {
  const [before, setBefore] = useState<number | null>(null);
  const [opened, setOpened] = useState<Opened | null>(null);
  const may = useMay();
  const query = before === null ? {} : {before};
  const points = useOperation('backup.points', {tenant, query}, {keep: true, every: REFRESH_MS});
  const notes = useNotes(tenant);
  return (
    <Loaded query={points}>
      {found => (
        <>
          <Facts facts={factsOf(found, everyMs)} />
          {found.tenant.last_proof?.passed === false ? (
            <Note tone="bad">The last drill failed: {proofOf(found.tenant.last_proof).finding}</Note>
          ) : null}
          {found.gap === null ? null : <Note tone="bad">{found.gap.finding}</Note>}
          {may('tenants.overview') ? <Looks tenant={tenant} /> : null}
          <Section
            title="Points in time"
            actions={
              <>
                <Button disabled={before === null} onClick={() => setBefore(null)}>
                  Newest
                </Button>
                <Button disabled={!found.has_more} onClick={() => setBefore(found.points.at(-1)!.at)}>
                  Older
                </Button>
                <Button
                  disabled={!may('tenants.restore')}
                  onClick={() => setOpened({purpose: 'look', choice: {text: localText(Date.now()), point: null}})}
                >
                  Look at a time
                </Button>
              </>
            }
          >
            {found.points.length === 0 ? (
              <Empty title="No copy yet" icon="backups">
                The first copy is made soon after the tenant's first commit.
              </Empty>
            ) : (
              <Table
                label="Points in time"
                rows={rowsOf(found.points, notes, before === null)}
                keyOf={({at, point, note}) => point?.commit ?? `${at} ${note}`}
                columns={columnsOf(tenant, may('tenants.restore'), setOpened)}
              />
            )}
          </Section>
          {opened === null ? null : (
            <RestoreDialog
              tenant={tenant}
              purpose={opened.purpose}
              initial={opened.choice}
              onClose={() => setOpened(null)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

function factsOf({tenant, ranges}: Points, everyMs: number) {
  const oldest = ranges.at(-1)?.from;
  return [
    ['State', <CopyState key="state" tenant={tenant} everyMs={everyMs} />],
    ['Newest copy', tenant.newest === null ? '–' : <Time key="newest" at={tenant.newest.at} />],
    ['Oldest point', oldest === undefined ? '–' : <Time key="oldest" at={oldest.at} />],
    ['Last drill', <LastDrill key="drill" tenant={tenant} />],
  ] as const;
}

/** Deployments and tasks of a tenant that is awake: looking at its backup does not wake it. */
function useNotes(tenant: string) {
  const may = useMay();
  const status = useOperation('tenants.status', {tenant}, {enabled: may('tenants.status')});
  const isAwake = status.data?.tenant.state === 'awake';
  const deployments = useOperation('deployments.list', {tenant}, {enabled: isAwake && may('deployments.list')});
  const tasks = useOperation('tasks.list', {tenant, query: {}}, {enabled: isAwake && may('tasks.list')});
  return notesOf(deployments.data?.deployments ?? [], tasks.data?.tasks ?? []);
}

function columnsOf(tenant: string, mayRestore: boolean, open: (opened: Opened) => void): Column<PointRow>[] {
  return [
    {title: 'Time', cell: ({at}) => <Time at={at} form="full" />},
    {
      title: 'Record',
      align: 'end',
      cell: ({at, point}) =>
        point === null ? '' : <Link href={`${pathOf(tenant, 'journal')}?to=${at}`}>{countText(point.sequence)}</Link>,
    },
    {title: 'What', grows: true, cell: ({note}) => (note === null ? '' : <Badge tone="accent">{note}</Badge>)},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: row => {
        const button = (purpose: Purpose, text: string) => (
          <Button kind="quiet" disabled={!mayRestore} onClick={() => open({purpose, choice: choiceOf(row)})}>
            {text}
          </Button>
        );
        const when = row.point === null ? 'just before' : '';
        return (
          <>
            {button('look', `Look ${when}`.trim())}
            {button('restore', `Restore ${when}`.trim())}
          </>
        );
      },
    },
  ];
}

/** Past states of this tenant that are open as tenants. */
function Looks({tenant}: {tenant: string}) {
  const tenants = useOperation('tenants.overview', {query: {search: tenant.slice(0, 48), limit: ROWS}});
  const looks = tenants.data?.tenants.filter(({id}) => isLookOf(id, tenant)) ?? [];
  if (looks.length === 0) return null;
  return (
    <Section title="Past states that are open">
      <Table
        label="Past states that are open"
        rows={looks}
        keyOf={({id}) => id}
        columns={[
          {title: 'As of', cell: ({id}) => <Time at={lookOf(id)!.at} form="full" />},
          {title: 'Tenant', grows: true, cell: ({id}) => <Link href={pathOf(id, 'data')}>{id}</Link>},
          {
            title: 'Actions',
            isTitleHidden: true,
            align: 'end',
            cell: ({id}) => (
              <OperationButton
                operation="tenants.delete"
                input={{tenant: id}}
                refresh={['tenants.overview']}
                done={`Removed ${id}`}
                kind="quiet"
                question={{title: `Remove ${id}`, text: `${id} is a restored copy. ${tenant} and its backup stay.`}}
              >
                Remove
              </OperationButton>
            ),
          },
        ]}
      />
    </Section>
  );
}
