/** Sandboxes and sessions as callers address them. The short functions expect success. */
import {expect} from 'vitest';
import type {SandboxRecord} from '../../shared/protocol/sandboxes.ts';
import type {SessionRecord} from '../../shared/protocol/sessions.ts';
import type {Reply, Service} from '../harness/service.ts';
import type {Tenant} from '../harness/tenant.ts';
import {NODE_VERSION} from './service-client.ts';

export type Sandbox = SandboxRecord;
export type Session = SessionRecord;
/** What each runtime is asked for with, on the Node that runs the tests, so that none is installed. */
export const RUNTIMES = {isolate: {}, node: {runtime: 'node', node_version: NODE_VERSION}} as const;
export type Runtime = keyof typeof RUNTIMES;

export type Executed = {value: unknown; log_lines: string[]; duration_ms: number};

export async function newSandbox(tenant: Tenant, body: object = {}): Promise<Sandbox> {
  const {sandbox}: {sandbox: Sandbox} = bodyOf(await tenant.request('POST', '/sandboxes', body), 201);
  return sandbox;
}

export async function sandboxOf(tenant: Tenant, id: string): Promise<Sandbox> {
  const {sandbox}: {sandbox: Sandbox} = bodyOf(await tenant.request('GET', `/sandboxes/${id}`), 200);
  return sandbox;
}

export async function execute(tenant: Tenant, id: string, body: object): Promise<Executed> {
  return bodyOf(await tenant.request('POST', `/sandboxes/${id}/execute`, body), 200);
}

export async function openSession(service: Service, body: object): Promise<Session> {
  const {session}: {session: Session} = bodyOf(await service.post('/api/sessions', body), 201);
  return session;
}

export async function sessionOf(service: Service, id: string): Promise<Session> {
  const {session}: {session: Session} = bodyOf(await service.get(`/api/sessions/${id}`), 200);
  return session;
}

export async function executeIn(service: Service, id: string, body: object): Promise<Executed> {
  return bodyOf(await service.post(`/api/sessions/${id}/execute`, body), 200);
}

function bodyOf(reply: Reply, status: number): never {
  expect({status: reply.status, text: reply.text}).toEqual({status, text: expect.any(String)});
  return reply.body;
}
