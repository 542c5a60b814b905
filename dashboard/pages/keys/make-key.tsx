/** Dialog for a new key, with its scopes ticked. */
import {useState} from 'react';
import {SCOPES, type Scope} from '../../../shared/rights.ts';
import {messageOf} from '../../api/failure.ts';
import {useChange} from '../../api/queries.ts';
import {useSession} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Check, Field, Select} from '../../parts/field.tsx';
import {Note} from '../../parts/states.tsx';
import css from './keys.module.css';

const MEANINGS: Readonly<Record<Scope, string>> = {
  'data:read': 'read documents, the journal and live queries',
  'data:write': 'write documents, import, run tasks',
  schema: 'change schemas, drop and rename tables',
  schedule: 'jobs and crons',
  deploy: 'deploy code and roll back',
  'functions:run': 'call functions',
  env: 'read and set variables',
  settings: 'network access of code, allowed origins',
  logs: 'read logs of functions',
  services: 'long-running code',
  sandboxes: 'run code in sandboxes',
  tenants: 'create and delete tenants',
  keys: 'make keys with no more than its own rights',
  audit: 'read the audit log',
  metrics: 'read metrics of the server',
};
const DAY_SECONDS = 86_400;
const LIVES = [
  ['1', '1 day'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'Never'],
] as const;

export function MakeKey({onClose, onMade}: {onClose(): void; onMade(secret: string): void}) {
  const session = useSession();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['data:read']);
  const [tenants, setTenants] = useState(session.tenants?.join(', ') ?? '');
  const [tables, setTables] = useState('');
  const [days, setDays] = useState('90');
  const make = useChange('keys.create', ['keys.list']);

  function submit(): void {
    const body = {
      name: name.trim(),
      scopes: [...scopes],
      tenants: namesIn(tenants),
      tables: namesIn(tables),
      expires_in_seconds: days === '' ? null : Number(days) * DAY_SECONDS,
    };
    make.mutate(
      {body},
      {
        onSuccess: ({secret}) => {
          onClose();
          onMade(secret);
        },
      },
    );
  }

  return (
    <Dialog
      title="New key"
      size="large"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            disabled={name.trim() === '' || scopes.length === 0}
            isBusy={make.isPending}
          >
            Make key
          </Button>
        </>
      }
    >
      {make.error === null ? null : <Note tone="bad">{messageOf(make.error)}</Note>}
      <div className={css.pair}>
        <Field label="Name" autoFocus value={name} onChange={event => setName(event.target.value)} />
        <Select label="Expires after" options={LIVES} value={days} onChange={event => setDays(event.target.value)} />
      </div>
      <fieldset className={css.scopes}>
        <legend>Scopes</legend>
        {SCOPES.filter(scope => session.scopes.includes(scope)).map(scope => (
          <Check
            key={scope}
            label={<code>{scope}</code>}
            hint={MEANINGS[scope]}
            checked={scopes.includes(scope)}
            onChange={({target}) =>
              setScopes(before => (target.checked ? [...before, scope] : before.filter(one => one !== scope)))
            }
          />
        ))}
      </fieldset>
      <div className={css.pair}>
        <Field
          label="Tenants"
          placeholder="all"
          hint="Names, separated by commas. Empty: all, those created later too."
          value={tenants}
          onChange={event => setTenants(event.target.value)}
        />
        <Field
          label="Tables"
          placeholder="all"
          hint="A key limited to tables can request nothing whose tables are not known, such as the journal."
          value={tables}
          onChange={event => setTables(event.target.value)}
        />
      </div>
    </Dialog>
  );
}

function namesIn(text: string): string[] | null {
  const names = text.split(/[\s,]+/).filter(name => name !== '');
  return names.length === 0 ? null : [...new Set(names)];
}
