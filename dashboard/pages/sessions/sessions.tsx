/** Who is signed in to the dashboard: end one session, or all of the own credential. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {useSession} from '../../api/session.ts';
import {REFRESH_MS} from '../../limits.ts';
import {Badge} from '../../parts/badge.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page} from '../../parts/page.tsx';
import {Loaded} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {Time} from '../../parts/values.tsx';
import {browserName} from './browser-name.ts';

type Session = AnswerOf<'dashboard.sessions'>['sessions'][number];

export default function Sessions() {
  const {id: own, who} = useSession();
  const sessions = useOperation('dashboard.sessions', {}, {every: REFRESH_MS});
  const columns: Column<Session>[] = [
    {
      title: 'Browser',
      grows: true,
      cell: ({id, browser}) => (
        <span title={browser}>
          {browserName(browser)} {id === own ? <Badge tone="accent">this browser</Badge> : null}
        </span>
      ),
    },
    {title: 'Credential', cell: ({key, key_name}) => <span title={key ?? 'admin'}>{key_name}</span>},
    {title: 'Address', cell: ({address}) => address},
    {title: 'Signed in', cell: ({created_at: at}) => <Time at={at} />},
    {title: 'Last used', cell: ({last_used_at: at}) => <Time at={at} />},
    {title: 'Ends unless used', cell: ({idle_ends_at: at}) => <Time at={at} />},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: ({id, browser}) => (
        <OperationButton
          operation="dashboard.end"
          input={{params: {session_id: id}}}
          refresh={['dashboard.sessions']}
          done={`Signed out ${browserName(browser)}`}
          kind="quiet"
        >
          Sign out
        </OperationButton>
      ),
    },
  ];
  return (
    <Page
      title="Sessions"
      actions={
        <OperationButton
          operation="dashboard.end_all"
          input={{}}
          refresh={['dashboard.sessions']}
          done={null}
          question={{
            title: 'Sign out everywhere',
            text: `Every browser that is signed in with ${who.name} is signed out, this one, too. The credential stays valid.`,
          }}
        >
          Sign out everywhere
        </OperationButton>
      }
    >
      <Loaded query={sessions}>
        {({sessions: all}) => <Table label="Sessions" columns={columns} rows={all} keyOf={({id}) => id} />}
      </Loaded>
    </Page>
  );
}
