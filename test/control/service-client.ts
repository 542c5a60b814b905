/** Services as callers address them. The short functions expect success. */
import {expect} from 'vitest';
import type {ServiceLogEntry, ServiceRecord, ServiceState} from '../../shared/protocol/services.ts';
import {childrenOf, commandLine, isAlive} from '../harness/processes.ts';
import type {Reply} from '../harness/service.ts';
import {until} from '../harness/until.ts';

/** A caller of the routes of one tenant. */
export type Principal = {request(method: string, path: string, body?: unknown): Promise<Reply>};

/** Of the Node that runs the tests, so that none is installed. */
export const NODE_VERSION = process.versions.node.split('.')[0]!;

export class ServiceClient {
  readonly #tenant: Principal;

  constructor(tenant: Principal) {
    this.#tenant = tenant;
  }

  async create(body: object): Promise<ServiceRecord> {
    return found(await this.#tenant.request('POST', '/services', {node_version: NODE_VERSION, ...body}), 201);
  }

  /** @param code an ES module */
  inline(name: string, code: string, more: object = {}): Promise<ServiceRecord> {
    return this.create({name, source: {type: 'inline', code}, ...more});
  }

  async get(name: string): Promise<ServiceRecord> {
    return found(await this.#tenant.request('GET', `/services/${name}`), 200);
  }

  async update(name: string, body: object): Promise<ServiceRecord> {
    return found(await this.#tenant.request('PUT', `/services/${name}`, {node_version: NODE_VERSION, ...body}), 200);
  }

  async act(name: string, verb: 'start' | 'stop' | 'restart'): Promise<ServiceRecord> {
    return found(await this.#tenant.request('POST', `/services/${name}/${verb}`), 200);
  }

  async lines(name: string): Promise<string[]> {
    return (await this.entries(name)).map(({line}) => line);
  }

  async entries(name: string): Promise<ServiceLogEntry[]> {
    const {status, text} = await this.#tenant.request('GET', `/services/${name}/logs`);
    expect(status).toBe(200);
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as ServiceLogEntry);
  }

  /** Resolves when a line of its log has this in it. */
  async says(name: string, text: string): Promise<void> {
    await until(`${name} says ${text}`, async () => (await this.lines(name)).some(line => line.includes(text)));
  }

  async is(name: string, state: ServiceState): Promise<ServiceRecord> {
    return await this.untilIt(name, `it is ${state}`, record => record.state === state);
  }

  async untilIt(name: string, what: string, isIt: (record: ServiceRecord) => boolean): Promise<ServiceRecord> {
    let record = await this.get(name);
    await until(`${name}: ${what}, which is ${JSON.stringify(record)}`, async () => {
      record = await this.get(name);
      return isIt(record);
    });
    return record;
  }
}

/** Processes of services below that worker. */
export function serviceProcesses(worker: number): number[] {
  return childrenOf(worker).filter(pid => isAlive(pid) && commandLine(pid).includes('/services/'));
}

function found({status, text, body}: Reply, wanted: number): ServiceRecord {
  expect({status, text}).toEqual({status: wanted, text: expect.any(String)});
  return (body as {service: ServiceRecord}).service;
}
