import {type ReactNode, useState} from 'react';
import {useQuery} from 'svc/react';
import {ConnectionBadge} from '../../kit/connection';
import {api} from '../svc/_generated/api';
import type {Doc} from '../svc/_generated/dataModel';
import {Avatar} from './avatar';
import {Composer} from './composer';
import {Messages} from './messages';
import {usePresence} from './use-presence';

export type Me = {user: string; name: string};

export function ChannelView({channel, me, menu}: {channel: Doc<'channels'>; me: Me; menu: ReactNode}) {
  const [isTyping, setTyping] = useState(false);
  usePresence(channel._id, isTyping);
  const here = useQuery(api.presence.here, {channel: channel._id}) ?? [];
  const others = here.filter(({user}) => user !== me.user);
  const typing = others.filter(other => other.isTyping).map(({name}) => name);
  return (
    <main className="channel">
      <header className="bar">
        {menu}
        <h1>
          <span className="muted" aria-hidden="true">
            #
          </span>
          {channel.name}
        </h1>
        <ul className="people" aria-label="Here now">
          {here.map(({user, name}) => (
            <li key={user} title={name}>
              <Avatar name={name} isSmall />
              <span className="unseen">{name}</span>
            </li>
          ))}
        </ul>
        <ConnectionBadge />
      </header>
      <Messages channel={channel} me={me} />
      <p className="typing" aria-live="polite">
        {typing.length > 0 && (
          <>
            <span className="dots" aria-hidden="true" />
            {listed(typing)} {typing.length === 1 ? 'is' : 'are'} typing
          </>
        )}
      </p>
      <Composer channel={channel} onTyping={setTyping} />
    </main>
  );
}

function listed(names: string[]): string {
  return names.length > 3 ? 'Several people' : new Intl.ListFormat('en').format(names);
}
