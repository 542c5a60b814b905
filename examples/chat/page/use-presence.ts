import {useEffect} from 'react';
import {useMutation, useSvcConnectionState} from 'svc/react';
import {api} from '../svc/_generated/api';
import type {Id} from '../svc/_generated/dataModel';

const HEARTBEAT_MS = 5_000;

/** Says that this user is in the channel, and whether they type, for as long as the component is there. */
export function usePresence(channel: Id<'channels'>, isTyping: boolean): void {
  const heartbeat = useMutation(api.presence.heartbeat);
  const leave = useMutation(api.presence.leave);
  const {isWebSocketConnected} = useSvcConnectionState();

  useEffect(() => {
    // Presence is worth nothing later: without a connection no heartbeat is queued.
    if (!isWebSocketConnected) return;
    const beat = () => void heartbeat({channel, isTyping}).catch(lost);
    beat();
    const timer = setInterval(beat, HEARTBEAT_MS);
    return () => clearInterval(timer);
  }, [channel, isTyping, isWebSocketConnected, heartbeat]);

  useEffect(() => () => void leave({channel}).catch(lost), [channel, leave]);
}

/** The next one comes in a moment, and who is not heard of is gone by itself. */
function lost(caught: unknown): void {
  console.info('presence was not reported', caught);
}
