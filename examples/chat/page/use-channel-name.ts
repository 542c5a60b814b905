import {useSyncExternalStore} from 'react';

/** The channel of the address: `#general`. Links and the back button work by themselves. */
export function useChannelName(): string {
  return useSyncExternalStore(
    onChange => {
      addEventListener('hashchange', onChange);
      return () => removeEventListener('hashchange', onChange);
    },
    () => decodeURIComponent(location.hash.slice(1)),
  );
}

export function goToChannel(name: string): void {
  location.hash = encodeURIComponent(name);
}
