import {type FormEvent, useState} from 'react';
import {ThemeButton} from '../../kit/theme';
import {useSession} from './session';

export function SignIn({problem = null}: {problem?: string | null}) {
  const {signIn} = useSession();
  const [name, setName] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState(problem);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(name);
    } catch (caught) {
      setRefusal((caught as Error).message);
      setBusy(false);
    }
  }

  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <span className="logo" aria-hidden="true" />
        <h1>Chat</h1>
        <p className="muted">Messages that are simply there, in every window, also after the train left the tunnel.</p>
        <label htmlFor="name">Your name</label>
        <input
          id="name"
          value={name}
          onChange={event => setName(event.target.value)}
          autoComplete="nickname"
          maxLength={30}
          required
          // biome-ignore lint/a11y/noAutofocus: there is nothing else to do on this page.
          autoFocus
          aria-describedby={refusal === null ? 'about' : 'about refusal'}
        />
        {refusal !== null && (
          <p id="refusal" className="refusal" role="alert">
            {refusal}
          </p>
        )}
        <button type="submit" className="button" disabled={isBusy || name.trim() === ''}>
          Sign in
        </button>
        <p id="about" className="fine">
          The login provider of this example takes your word for it. In a private window you can be another user.
        </p>
      </form>
      <div className="corner">
        <ThemeButton />
      </div>
    </main>
  );
}
