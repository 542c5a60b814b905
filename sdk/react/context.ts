/** The client that a part of the component tree uses. */
import {createContext, createElement, type ReactElement, type ReactNode, useContext} from 'react';
import type {SvcReactClient} from './client.ts';

const ClientContext = createContext<SvcReactClient | undefined>(undefined);

/** Components below it use this client. */
export function SvcProvider({client, children}: {client: SvcReactClient; children?: ReactNode}): ReactElement {
  return createElement(ClientContext.Provider, {value: client}, children);
}

/** The provider's client; undefined outside of a provider, whatever the type says: most components are inside of one. */
export function useSvc(): SvcReactClient {
  return useContext(ClientContext) as SvcReactClient;
}

/** @param hook that needs it. @throws Error outside of a provider */
export function useClient(hook: string): SvcReactClient {
  const client = useContext(ClientContext);
  if (client !== undefined) return client;
  throw new Error(
    `Could not find svc client! ${hook} must be used in the React component tree under SvcProvider: ` +
      'render <SvcProvider client={new SvcReactClient(url)}> around your app, with a client made once, outside of components',
  );
}
