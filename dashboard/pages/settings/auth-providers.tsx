/** The auth providers of the active deployment, and a check of a token that names what it fails. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {messageOf} from '../../api/failure.ts';
import {useChange, useOperation} from '../../api/queries.ts';
import {Badge, type Tone} from '../../parts/badge.tsx';
import {Button} from '../../parts/button.tsx';
import {TextArea} from '../../parts/field.tsx';
import {Section} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import css from './settings.module.css';

type Examination = AnswerOf<'auth.check'>;
type Check = Examination['checks'][number];

const TONES: Readonly<Record<Check['outcome'], Tone>> = {passed: 'good', failed: 'bad', skipped: 'neutral'};
const TITLES: Readonly<Record<Check['check'], string>> = {
  form: 'Form',
  issuer: 'Issuer',
  audience: 'Audience',
  algorithm: 'Algorithm',
  keys: 'Keys of the provider',
  key: 'Key of the token',
  signature: 'Signature',
  not_before: 'Not before',
  expiry: 'Expiry',
  issued_at: 'Issued at',
  size: 'Size',
};

export function AuthProviders({tenant}: {tenant: string}) {
  const auth = useOperation('auth.get', {tenant});
  return (
    <Section title="Auth providers">
      <Loaded query={auth}>
        {({providers}) =>
          providers.length === 0 ? (
            <Empty title="No auth providers">
              List those that you trust in svc/auth.config.ts, and deploy. Until then every user is anonymous.
            </Empty>
          ) : (
            <>
              <Table
                label="Auth providers"
                rows={providers}
                keyOf={({issuer, application_id}) => `${issuer} ${application_id}`}
                columns={[
                  {
                    title: 'Issuer',
                    grows: true,
                    cell: ({issuer, jwks}) => <span title={`Keys: ${jwks}`}>{issuer}</span>,
                  },
                  {title: 'Type', cell: ({type}) => (type === 'oidc' ? 'OIDC' : 'custom JWT')},
                  {title: 'Application', cell: ({application_id: id}) => id ?? 'any'},
                  {title: 'Algorithms', cell: ({algorithms}) => algorithms.join(', ')},
                ]}
              />
              <TokenTester tenant={tenant} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

/** The token is sent in a body, and is in this component's memory only. */
function TokenTester({tenant}: {tenant: string}) {
  const [token, setToken] = useState('');
  const check = useChange('auth.check', []);
  return (
    <form
      className={css.form}
      onSubmit={event => {
        event.preventDefault();
        check.mutate({tenant, body: {token}});
      }}
    >
      <TextArea
        label="Check a token"
        rows={3}
        autoComplete="off"
        hint="Paste a user's JWT. It goes through the checks of a call, and is not stored or logged."
        value={token}
        onChange={event => {
          setToken(event.target.value);
          check.reset();
        }}
      />
      <div>
        <Button type="submit" disabled={token.trim() === ''} isBusy={check.isPending}>
          Check
        </Button>
      </div>
      <div aria-live="polite" className={css.form}>
        {check.error === null ? null : <Note tone="bad">{messageOf(check.error)}</Note>}
        {check.data === undefined ? null : <Result {...check.data} />}
      </div>
    </form>
  );
}

function Result({is_valid, checks, header, claims, identity}: Examination) {
  const failed = checks.find(({outcome}) => outcome === 'failed');
  return (
    <>
      {is_valid || failed === undefined ? (
        <Note tone="good">Calls with this token are made as its user.</Note>
      ) : (
        <Note tone="bad">
          <strong>{`${TITLES[failed.check]}: ${failed.text}`}</strong> {failed.to_do}
        </Note>
      )}
      <Table
        label="Checks of the token"
        rows={checks}
        keyOf={({check}) => check}
        columns={[
          {title: 'Check', cell: ({check}) => TITLES[check]},
          {title: 'Outcome', cell: ({outcome}) => <Badge tone={TONES[outcome]}>{outcome}</Badge>},
          {title: 'Found', grows: true, cell: ({text}) => <span title={text}>{text}</span>},
        ]}
      />
      <div className={css.columns}>
        <Part title="Identity that functions get" value={identity} />
        <Part title="Header" value={header} />
        <Part title="Claims" value={claims} />
      </div>
    </>
  );
}

function Part({title, value}: {title: string; value: object | null}) {
  if (value === null) return null;
  return (
    <div>
      <h3 className={css.small}>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard */}
      <pre className={css.json} tabIndex={0}>
        {JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
}
