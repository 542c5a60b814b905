/** Which hosts code can reach, and which sites can call the tenant from a browser. */
import {useState} from 'react';
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {messageOf} from '../../api/failure.ts';
import {useChange, useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {Check, TextArea} from '../../parts/field.tsx';
import {Section} from '../../parts/page.tsx';
import {Loaded, Note} from '../../parts/states.tsx';
import {showToast} from '../../parts/toast.tsx';
import css from './settings.module.css';

type Stored = AnswerOf<'settings.get'>;

export function Network({tenant}: {tenant: string}) {
  const settings = useOperation('settings.get', {tenant});
  return (
    <Section title="Network">
      <Loaded query={settings}>
        {stored => <NetworkForm key={JSON.stringify(stored)} tenant={tenant} stored={stored} />}
      </Loaded>
    </Section>
  );
}

function NetworkForm({tenant, stored}: {tenant: string; stored: Stored}) {
  const [allow, setAllow] = useState(stored.egress.allow.join('\n'));
  const [deny, setDeny] = useState(stored.egress.deny.join('\n'));
  const [isOpen, setOpen] = useState(stored.allowed_origins === null);
  const [origins, setOrigins] = useState(stored.allowed_origins?.join('\n') ?? '');
  const put = useChange('settings.put', ['settings.get']);
  const mayNot = !useMay()('settings.put');
  const wanted: Stored = {
    egress: {allow: linesIn(allow), deny: linesIn(deny)},
    allowed_origins: isOpen ? null : linesIn(origins),
  };
  const isChanged = JSON.stringify(wanted) !== JSON.stringify(stored);

  const submit = () =>
    put.mutate(
      {tenant, body: wanted},
      {onSuccess: () => showToast('Saved the settings', {undo: () => put.mutate({tenant, body: stored})})},
    );
  return (
    <form
      className={css.form}
      onSubmit={event => {
        event.preventDefault();
        submit();
      }}
    >
      {put.error === null ? null : <Note tone="bad">{messageOf(put.error)}</Note>}
      <p>Code can reach the public internet. This machine and private networks are closed unless you open them.</p>
      <div className={css.columns}>
        <TextArea
          label="Also open to code"
          rows={4}
          hint="Hosts and addresses, one per line, such as 10.1.0.0/16 or minio.internal:9000."
          value={allow}
          onChange={event => setAllow(event.target.value)}
        />
        <TextArea
          label="Closed to code"
          rows={4}
          hint="One per line, such as *.ads.example. These win over the open ones."
          value={deny}
          onChange={event => setDeny(event.target.value)}
        />
      </div>
      <Check
        label="Pages of every site can call functions"
        checked={isOpen}
        onChange={event => setOpen(event.target.checked)}
      />
      {isOpen ? null : (
        <TextArea
          label="Sites whose pages can call functions"
          rows={4}
          hint="One origin per line, such as https://app.example.com. Empty: none."
          value={origins}
          onChange={event => setOrigins(event.target.value)}
        />
      )}
      <div>
        <Button type="submit" kind="primary" disabled={!isChanged || mayNot} isBusy={put.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}

function linesIn(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}
