/** Signs in with a token, or with the code of a one-time link. Neither is kept by the page. */
import {useQueryClient} from '@tanstack/react-query';
import {useEffect, useState} from 'react';
import {messageOf} from '../api/failure.ts';
import {signIn} from '../api/session.ts';
import {Button} from '../parts/button.tsx';
import {Field} from '../parts/field.tsx';
import {Mark} from '../parts/mark.tsx';
import css from './sign-in.module.css';

type LinkCode = {isOpen(): boolean; take(): string | null};

/** Takes the code out of the address at once, so that neither the history nor a copied address has it. */
export function codeOfLink(): LinkCode {
  let code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return {
    isOpen: () => code !== null,
    take: () => {
      const taken = code;
      code = null;
      return taken;
    },
  };
}

export function SignIn({code}: {code: LinkCode}) {
  const client = useQueryClient();
  const [token, setToken] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(code.isOpen());

  async function send(credential: {token: string} | {code: string}): Promise<void> {
    setBusy(true);
    setFault(null);
    try {
      await signIn(credential);
      await client.resetQueries();
    } catch (error) {
      setFault(
        'code' in credential
          ? `The link is used or too old: ${messageOf(error)}. Run svc dashboard for a new one.`
          : messageOf(error),
      );
    }
    setBusy(false);
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: a code is good for one attempt
  useEffect(() => {
    const taken = code.take();
    if (taken !== null) void send({code: taken});
  }, []);

  return (
    <main className={css.page}>
      <form
        className={css.card}
        onSubmit={event => {
          event.preventDefault();
          void send({token: token.trim()});
        }}
      >
        <h1 className={css.brand}>
          <Mark />
          svc
        </h1>
        <p className={css.lead}>Sign in with an API key or one of the tokens in admin.json.</p>
        <Field
          label="Token"
          type="password"
          name="token"
          autoComplete="off"
          autoFocus
          required
          value={token}
          fault={fault}
          onChange={event => setToken(event.target.value)}
        />
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={token.trim() === ''}>
          Sign in
        </Button>
        <p className={css.hint}>
          On the machine that runs the server, <code>svc dashboard</code> opens a link that signs you in.
        </p>
      </form>
    </main>
  );
}
