import {type FormEvent, useEffect, useRef, useState} from 'react';
import {useMutation} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {Icon} from '../../kit/icons';
import {ThemeButton} from '../../kit/theme';
import {api} from '../svc/_generated/api';
import type {Doc} from '../svc/_generated/dataModel';
import {Avatar} from './avatar';
import {useSession} from './session';
import {goToChannel} from './use-channel-name';

type Props = {
  channels: Doc<'channels'>[];
  current: string;
  me: {name: string};
  /** On a phone it lies over the messages. */
  isOpen: boolean;
  close(): void;
};

export function Sidebar({channels, current, me, isOpen, close}: Props) {
  const {signOut} = useSession();
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close();
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [isOpen, close]);
  return (
    <>
      <button type="button" className="backdrop" data-open={isOpen} aria-label="Close the channels" onClick={close} />
      <div className="sidebar" data-open={isOpen}>
        <header>
          <span className="logo" aria-hidden="true" />
          <strong>Chat</strong>
          <ThemeButton />
        </header>
        <nav aria-label="Channels">
          <ul>
            {channels.map(({_id, name}) => (
              <li key={_id}>
                <a href={`#${name}`} aria-current={name === current ? 'page' : undefined} onClick={close}>
                  <span className="muted" aria-hidden="true">
                    #
                  </span>
                  {name}
                </a>
              </li>
            ))}
          </ul>
          <NewChannel onMade={close} />
        </nav>
        <footer>
          <Avatar name={me.name} />
          <span className="me">{me.name}</span>
          <button
            type="button"
            className="icon-button"
            aria-label="Sign out"
            title="Sign out"
            onClick={() => void signOut()}
          >
            <Icon name="leave" />
          </button>
        </footer>
      </div>
    </>
  );
}

function NewChannel({onMade}: {onMade(): void}) {
  const create = useMutation(api.channels.create);
  const dialog = useRef<HTMLDialogElement>(null);
  const [refusal, setRefusal] = useState<string | null>(null);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const name = String(new FormData(form).get('name')).trim().toLowerCase().replaceAll(/\s+/g, '-');
    try {
      await create({name});
    } catch (caught) {
      return setRefusal(failureText(caught));
    }
    form.reset();
    setRefusal(null);
    dialog.current?.close();
    goToChannel(name);
    onMade();
  }

  return (
    <>
      <button type="button" className="quiet" onClick={() => dialog.current?.showModal()}>
        <Icon name="plus" /> New channel
      </button>
      <dialog ref={dialog} aria-labelledby="new-channel">
        <form onSubmit={submit}>
          <h2 id="new-channel">New channel</h2>
          <label htmlFor="channel-name">Its name</label>
          <input id="channel-name" name="name" placeholder="garden" maxLength={30} required autoComplete="off" />
          {refusal !== null && (
            <p className="refusal" role="alert">
              {refusal}
            </p>
          )}
          <div className="actions">
            <button type="button" className="button plain" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" className="button">
              Create
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
