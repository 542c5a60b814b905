/** API keys: who can do what, until when. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {Badge} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Page} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type Column, Table} from '../../parts/table.tsx';
import {plural, Time} from '../../parts/values.tsx';
import {MakeKey} from './make-key.tsx';
import {RotateKey} from './rotate-key.tsx';
import {ShownSecret} from './shown-secret.tsx';

type Key = AnswerOf<'keys.list'>['keys'][number];

export default function Keys() {
  const keys = useOperation('keys.list', {});
  const [isMaking, setMaking] = useState(false);
  const [rotated, setRotated] = useState<Key | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const may = useMay();

  const columns: Column<Key>[] = [
    {title: 'Name', cell: ({name, id}) => <span title={`svc_key_${id}_…`}>{name}</span>},
    {title: 'Scopes', grows: true, cell: ({scopes}) => <span title={scopes.join('\n')}>{scopes.join(', ')}</span>},
    {title: 'Tenants', cell: ({tenants}) => <Names names={tenants} one="tenant" />},
    {title: 'Tables', cell: ({tables}) => <Names names={tables} one="table" />},
    {title: 'Expires', cell: ({expires_at: at}) => <Expiry at={at} />},
    {title: 'Last used', cell: ({last_used_at: at}) => (at === null ? 'never' : <Time at={at} />)},
    {
      title: 'Actions',
      isTitleHidden: true,
      align: 'end',
      cell: key => (
        <>
          <Button kind="quiet" disabled={!may('keys.rotate')} onClick={() => setRotated(key)}>
            Rotate
          </Button>
          <OperationButton
            operation="keys.revoke"
            input={{params: {key_id: key.id}}}
            refresh={['keys.list']}
            done={`Revoked ${key.name}`}
            kind="quiet"
            question={{
              title: `Revoke ${key.name}`,
              text: 'Requests with this key are refused from now on, and its connections are closed.',
              name: key.name,
            }}
          >
            Revoke
          </OperationButton>
        </>
      ),
    },
  ];
  const make = (
    <Button kind="primary" icon="plus" disabled={!may('keys.create')} onClick={() => setMaking(true)}>
      New key
    </Button>
  );

  return (
    <Page title="Keys" actions={make}>
      <Loaded query={keys}>
        {({keys: all, damaged}) => (
          <>
            {damaged.length === 0 ? null : (
              <Note tone="bad">
                The disk changed the records of {damaged.join(', ')}: those keys are not valid. Revoke them and make new
                ones.
              </Note>
            )}
            {all.length === 0 ? (
              <Empty title="No keys yet" icon="keys">
                Make one for each application, script or colleague. It can do less than everything, and it can expire.
              </Empty>
            ) : (
              <Table label="Keys" columns={columns} rows={all} keyOf={({id}) => id} />
            )}
          </>
        )}
      </Loaded>
      {isMaking ? <MakeKey onClose={() => setMaking(false)} onMade={setSecret} /> : null}
      {rotated === null ? null : (
        <RotateKey id={rotated.id} name={rotated.name} onClose={() => setRotated(null)} onMade={setSecret} />
      )}
      {secret === null ? null : <ShownSecret secret={secret} onClose={() => setSecret(null)} />}
    </Page>
  );
}

function Names({names, one}: {names: readonly string[] | null; one: string}) {
  if (names === null) return 'all';
  return <span title={names.join('\n')}>{names.length === 1 ? names[0] : plural(names.length, one)}</span>;
}

function Expiry({at}: {at: number | null}) {
  if (at === null) return 'never';
  if (at < Date.now()) return <Badge tone="bad">expired</Badge>;
  return <Time at={at} />;
}
