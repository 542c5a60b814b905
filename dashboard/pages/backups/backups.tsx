/** Backups of all tenants: how old they are, what the last drill proved, and what is wrong. */
import {useState} from 'react';
import {Link} from 'wouter';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Button} from '../../parts/button.tsx';

import {OperationButton} from '../../parts/operation-button.tsx';
import {Facts, Page, pathOf, Section} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {durationText, plural, Time} from '../../parts/values.tsx';
import {CopyState, LastDrill} from './copy-state.tsx';
import {NoBackup} from './no-backup.tsx';

type Status = AnswerOf<'backup.status'>;
type Backup = NonNullable<Status['backup']>;

const STATUS = ['backup.status'] as const;
const DRILL_TENANTS = 3;

export default function Backups() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const query = cursor === undefined ? {} : {cursor};
  const status = useOperation('backup.status', {query}, {every: REFRESH_MS, keep: true});
  const isOn = (status.data?.backup ?? null) !== null;
  return (
    <Page title="Backups" actions={isOn ? <Actions /> : null}>
      <Loaded query={status}>
        {({backup, tenants, next_cursor: next}) =>
          backup === null ? (
            <NoBackup />
          ) : (
            <>
              <Warnings {...backup} />
              <Facts facts={factsOf(backup)} />
              <Section
                title="Tenants"
                actions={
                  <>
                    {cursors.length === 0 ? null : (
                      <Button onClick={() => setCursors(cursors.slice(0, -1))}>Previous page</Button>
                    )}
                    {next === null ? null : <Button onClick={() => setCursors([...cursors, next])}>Next page</Button>}
                  </>
                }
              >
                {tenants.length === 0 ? (
                  <Empty title="There are no tenants" />
                ) : (
                  <Table label="Tenants" rows={tenants} keyOf={({id}) => id} columns={columnsOf(backup.every_ms)} />
                )}
              </Section>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function Actions() {
  return (
    <>
      <OperationButton operation="backup.run" input={{}} refresh={STATUS} done="Every tenant is in the repository">
        Back up now
      </OperationButton>
      <OperationButton
        operation="backup.drill"
        input={{query: {tenants: DRILL_TENANTS}}}
        refresh={STATUS}
        done="The drill has begun"
      >
        {`Drill ${plural(DRILL_TENANTS, 'tenant')}`}
      </OperationButton>
    </>
  );
}

function Warnings({state, last_fault: fault, drill}: Backup) {
  return (
    <>
      {state === 'locked' ? (
        <Note tone="bad">
          Copies are not made any more: {fault?.message ?? 'another server writes to the repository'}
        </Note>
      ) : null}
      {state === 'failing' && fault !== null ? (
        <Note tone="bad">
          The last attempt failed <Time at={fault.at} />: {fault.message}
        </Note>
      ) : null}
      {drill.last !== null && drill.last.failed > 0 ? (
        <Note tone="bad">
          {`The last drill could not restore ${plural(drill.last.failed, 'tenant')}. `}
          Run <code>svc backup check</code> for all damaged objects.
        </Note>
      ) : null}
    </>
  );
}

function factsOf({to, every_ms, age_ms, last_success_at: success, drill}: Backup) {
  const {running, last} = drill;
  return [
    ['Repository', to],
    ['Interval', durationText(every_ms)],
    ['Oldest change without a copy', age_ms === 0 ? 'none' : durationText(age_ms)],
    ['Last copy', success === null ? 'none since the start' : <Time key="success" at={success} />],
    [
      'Last drill',
      running !== null ? (
        `${running.done} of ${running.total}`
      ) : last === null ? (
        'none yet'
      ) : (
        <Time key="drill" at={last.at} />
      ),
    ],
    ['Next drills', drill.every_ms === 0 ? 'on request' : `every ${durationText(drill.every_ms)}`],
  ] as const;
}

function columnsOf(everyMs: number): Column<Status['tenants'][number]>[] {
  return [
    {title: 'Tenant', grows: true, cell: ({id}) => <Link href={pathOf(id, 'backups')}>{id}</Link>},
    {title: 'State', cell: tenant => <CopyState tenant={tenant} everyMs={everyMs} />},
    {title: 'Newest copy', cell: ({newest}) => (newest === null ? '–' : <Time at={newest.at} />)},
    {title: 'Last drill', cell: tenant => <LastDrill tenant={tenant} />},
  ];
}
