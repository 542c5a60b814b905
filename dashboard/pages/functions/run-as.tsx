/** Who a function runs as: no one, a saved identity, or one that is typed and can be saved. */
import {useState} from 'react';
import {Button} from '../../parts/button.tsx';
import {Field, Select, TextArea} from '../../parts/field.tsx';
import css from './functions.module.css';
import {
  draftOfIdentity,
  EMPTY_DRAFT,
  forgetIdentity,
  type Identity,
  type IdentityDraft,
  identityOf,
  isFault,
  savedIdentities,
  saveIdentity,
} from './identities.ts';

/** `saved`: its name; null: it was typed. */
export type RunAs = {readonly draft: IdentityDraft; readonly saved: string | null} | null;

/** Null: not signed in. */
export function identityRunAs(as: RunAs): Identity | null | {readonly fault: string} {
  return as === null ? null : identityOf(as.draft);
}

export function runAsOf(identity: Identity | null): RunAs {
  return identity === null ? null : {draft: draftOfIdentity(identity), saved: null};
}

const NO_ONE = '';
const TYPED = 'typed';
const SAVED = 'saved:';

export function RunAsField({tenant, as, onChange}: {tenant: string; as: RunAs; onChange(as: RunAs): void}) {
  const [saved, setSaved] = useState(() => savedIdentities(tenant));
  const [name, setName] = useState('');
  const identity = identityRunAs(as);
  const fault = identity !== null && isFault(identity) ? identity.fault : null;

  const choose = (value: string) => {
    const found = saved.find(one => SAVED + one.name === value);
    if (found !== undefined) onChange({draft: draftOfIdentity(found.identity), saved: found.name});
    else onChange(value === NO_ONE ? null : {draft: as?.draft ?? EMPTY_DRAFT, saved: null});
  };
  const type = (change: Partial<IdentityDraft>) => onChange({draft: {...as!.draft, ...change}, saved: null});

  return (
    <section className={css.runAs} aria-label="Identity">
      <div className={css.line}>
        <Select
          label="Run as"
          value={as === null ? NO_ONE : as.saved === null ? TYPED : SAVED + as.saved}
          options={[
            [NO_ONE, 'No identity'],
            ...saved.map(one => [SAVED + one.name, one.name] as const),
            [TYPED, 'Another identity …'],
          ]}
          onChange={event => choose(event.target.value)}
        />
        {as !== null && as.saved !== null ? (
          <>
            <Button onClick={() => onChange({...as, saved: null})}>Edit</Button>
            <Button
              onClick={() => {
                setSaved(forgetIdentity(tenant, as.saved!));
                onChange(null);
              }}
            >
              Forget
            </Button>
          </>
        ) : null}
      </div>
      {as === null || as.saved !== null ? null : (
        <>
          <div className={css.pair}>
            <Field
              label="Subject"
              placeholder="user1"
              value={as.draft.subject}
              onChange={event => type({subject: event.target.value})}
            />
            <Field
              label="Name"
              placeholder="Ada"
              value={as.draft.name}
              onChange={event => type({name: event.target.value})}
            />
          </div>
          <TextArea
            label="Other claims (JSON)"
            rows={2}
            placeholder='{"email": "ada@example.com", "issuer": "https://example.com"}'
            hint="What ctx.auth.getUserIdentity() returns, with the subject and the name."
            value={as.draft.claims}
            fault={as.draft.subject === '' && as.draft.claims === '' ? null : fault}
            onChange={event => type({claims: event.target.value})}
          />
          <div className={css.line}>
            <Field
              label="Save as"
              placeholder="Ada, an editor"
              maxLength={60}
              value={name}
              onChange={event => setName(event.target.value)}
            />
            <Button
              disabled={name.trim() === '' || fault !== null}
              onClick={() => {
                setSaved(saveIdentity(tenant, name.trim(), identity as Identity));
                onChange({...as, saved: name.trim()});
                setName('');
              }}
            >
              Save in this browser
            </Button>
          </div>
        </>
      )}
    </section>
  );
}
