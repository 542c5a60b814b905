'use client';
import {useMutation, useQuery, useSvcConnectionState} from 'svc/react';
import {api} from '../svc/_generated/api';

export function Messages() {
  const count = useQuery(api.messages.count);
  const {isWebSocketConnected} = useSvcConnectionState();
  const send = useMutation(api.messages.send);
  const state = isWebSocketConnected ? 'connected' : 'not connected';
  return <button type="button" onClick={() => send({body: 'hello'})}>{`${count ?? 'loading'}, ${state}`}</button>;
}
