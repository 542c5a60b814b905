import {useEffect, useState} from 'react';
import {useQuery} from 'svc/react';
import {ErrorBoundary} from '../../kit/error-boundary';
import {Icon} from '../../kit/icons';
import {api} from '../svc/_generated/api';
import {ChannelView} from './channel-view';
import {Sidebar} from './sidebar';
import {goToChannel, useChannelName} from './use-channel-name';

export function Chat() {
  const channels = useQuery(api.channels.list);
  const me = useQuery(api.users.me);
  const name = useChannelName();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const channel = channels?.find(known => known.name === name);
  const first = channels?.[0]?.name;

  useEffect(() => {
    if (name === '' && first !== undefined) goToChannel(first);
  }, [name, first]);
  useEffect(() => {
    document.title = channel === undefined ? 'Chat' : `#${channel.name} · Chat`;
  }, [channel]);

  if (channels === undefined || me === undefined || me === null)
    return (
      <p className="notice" role="status">
        One moment…
      </p>
    );
  const menu = (
    <button type="button" className="icon-button menu" aria-label="Channels" onClick={() => setMenuOpen(true)}>
      <Icon name="menu" />
    </button>
  );
  return (
    <div className="shell">
      <Sidebar channels={channels} current={name} me={me} isOpen={isMenuOpen} close={() => setMenuOpen(false)} />
      {channel !== undefined ? (
        <ErrorBoundary key={channel._id}>
          <ChannelView channel={channel} me={me} menu={menu} />
        </ErrorBoundary>
      ) : (
        <main className="notice">
          {menu}
          <h1>{channels.length === 0 ? 'Nothing here yet' : `There is no #${name}`}</h1>
          <p className="muted">
            {channels.length === 0 ? 'Make the first channel, and say something.' : 'Choose another one, or make it.'}
          </p>
        </main>
      )}
    </div>
  );
}
