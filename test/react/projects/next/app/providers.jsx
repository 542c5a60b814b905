'use client';
import {SvcProvider, SvcReactClient} from 'svc/react';

const client = new SvcReactClient('http://127.0.0.1:3210/svc/app');

export function Providers({children}) {
  return <SvcProvider client={client}>{children}</SvcProvider>;
}
