/** Provides the client to a part of the component tree. */
import {createContext, createElement, type ReactElement, type ReactNode, useContext} from 'react';
import type {SvcReactClient} from './client.ts';

const ClientContext = createContext<SvcReactClient | undefined>(undefined);

/** Makes `client` available to all components below it. */
export function SvcProvider({client, children}: {client: SvcReactClient; children?: ReactNode}): ReactElement {
  return createElement(ClientContext.Provider, {value: client}, children);
}

/**
 * The provider's client. Outside of a provider it is undefined, although the type does not say so, because most
 * components are inside of one.
 */
export function useSvc(): SvcReactClient {
  return useContext(ClientContext) as SvcReactClient;
}

/** @param hook the name of the calling hook, for the message. @throws Error outside of a provider */
export function useClient(hook: string): SvcReactClient {
  const client = useContext(ClientContext);
  if (client !== undefined) return client;
  throw new Error(
    `Could not find svc client! ${hook} must be used in the React component tree under SvcProvider: ` +
      'render <SvcProvider client={new SvcReactClient(url)}> around your app, with a client made once, outside of components',
  );
}
