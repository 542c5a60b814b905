/** The hook `useSvcConnectionState`, which reports whether what is shown is current and whether calls are under way. */
import {useCallback, useSyncExternalStore} from 'react';
import {type ConnectionState, NOT_CONNECTED} from '../client/connection-state.ts';
import {useClient} from './context.ts';

const ofServer = () => NOT_CONNECTED;

/** The state of the connection; the component renders again when it changes. */
export function useSvcConnectionState(): ConnectionState {
  const client = useClient('useSvcConnectionState');
  const subscribe = useCallback((listener: () => void) => client.subscribeToConnectionState(listener), [client]);
  const current = useCallback(() => client.connectionState(), [client]);
  return useSyncExternalStore(subscribe, current, ofServer);
}
