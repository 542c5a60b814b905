import {useSyncExternalStore} from 'react';
import {useSvcConnectionState} from 'svc/react';

/** Whether what is shown is live, and how much waits to be sent. */
export function ConnectionBadge() {
  const {isWebSocketConnected, hasEverConnected, inflightMutations} = useSvcConnectionState();
  const isOnline = useSyncExternalStore(watchNetwork, () => navigator.onLine);
  const state = isWebSocketConnected ? 'live' : isOnline ? 'connecting' : 'offline';
  const words = {live: 'Live', connecting: hasEverConnected ? 'Reconnecting…' : 'Connecting…', offline: 'Offline'}[
    state
  ];
  const waiting = state === 'live' || inflightMutations === 0 ? '' : ` · ${inflightMutations} waiting`;
  return (
    <span className="badge" data-state={state} role="status">
      {words}
      {waiting}
    </span>
  );
}

function watchNetwork(onChange: () => void): () => void {
  addEventListener('online', onChange);
  addEventListener('offline', onChange);
  return () => {
    removeEventListener('online', onChange);
    removeEventListener('offline', onChange);
  };
}
