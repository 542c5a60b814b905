/** `useSvcConnectionState`: whether what is shown is current, and whether something is under way. */
import {useCallback, useSyncExternalStore} from 'react';
import {type ConnectionState, NOT_CONNECTED} from '../client/connection-state.ts';
import {useClient} from './context.ts';

const ofServer = () => NOT_CONNECTED;

/** Renders again when it changes. */
export function useSvcConnectionState(): ConnectionState {
  const client = useClient('useSvcConnectionState');
  const subscribe = useCallback((listener: () => void) => client.subscribeToConnectionState(listener), [client]);
  const current = useCallback(() => client.connectionState(), [client]);
  return useSyncExternalStore(subscribe, current, ofServer);
}
