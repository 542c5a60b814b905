/** Whether the server can be reached. Requests report it; while it cannot, it is tried again until it answers. */
import {useSyncExternalStore} from 'react';
import {RECONNECT_MS} from '../limits.ts';

type Connection = 'connected' | 'lost';

let state: Connection = 'connected';
const listeners = new Set<() => void>();
const whenBack = new Set<() => void>();

function set(next: Connection): void {
  if (state === next) return;
  state = next;
  for (const listener of listeners) listener();
}

export function answered(): void {
  if (state === 'connected') return;
  set('connected');
  for (const listener of [...whenBack]) listener();
}

export function lost(): void {
  if (state === 'lost') return;
  set('lost');
  setTimeout(tryAgain, RECONNECT_MS);
}

/** Any answer will do, a refusal too. */
async function tryAgain(): Promise<void> {
  if (state === 'connected') return;
  try {
    await fetch('/_dashboard/session', {headers: {'X-Svc-Dashboard': '1'}, cache: 'no-store'});
    answered();
  } catch {
    setTimeout(tryAgain, RECONNECT_MS);
  }
}

/** Calls back each time that the server answers again. */
export function onReconnect(listener: () => void): () => void {
  whenBack.add(listener);
  return () => whenBack.delete(listener);
}

/** Resolves when the server answers; at once if it does. */
export function connected(): Promise<void> {
  if (state === 'connected') return Promise.resolve();
  return new Promise(resolve => {
    const stop = onReconnect(() => {
      stop();
      resolve();
    });
  });
}

export function isLost(): boolean {
  return state === 'lost';
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => state);
}
