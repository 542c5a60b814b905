/**
 * Tenants marked `production` are read-only until they are unlocked. The mark is kept in this browser's local storage,
 * the unlocking until the tab is closed: both protect against a slip of the hand, not against a person.
 */
import {useSyncExternalStore} from 'react';

const marked = (tenant: string) => `svc.production.${tenant}`;
const unlocked = (tenant: string) => `svc.unlocked.${tenant}`;
const listeners = new Set<() => void>();

function changed(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export type Protection = 'none' | 'locked' | 'unlocked';

export function protectionOf(tenant: string): Protection {
  if (localStorage.getItem(marked(tenant)) === null) return 'none';
  return sessionStorage.getItem(unlocked(tenant)) === null ? 'locked' : 'unlocked';
}

export function markProduction(tenant: string, isMarked: boolean): void {
  if (isMarked) localStorage.setItem(marked(tenant), '1');
  else localStorage.removeItem(marked(tenant));
  sessionStorage.removeItem(unlocked(tenant));
  changed();
}

export function unlock(tenant: string, isUnlocked: boolean): void {
  if (isUnlocked) sessionStorage.setItem(unlocked(tenant), '1');
  else sessionStorage.removeItem(unlocked(tenant));
  changed();
}

export function useProtection(tenant: string | null): Protection {
  return useSyncExternalStore(subscribe, () => (tenant === null ? 'none' : protectionOf(tenant)));
}
