/** One tenant of a service, as its users address it. The short methods expect success; `request` shows any answer. */
import {expect} from 'vitest';
import type {Reply, Service} from './service.ts';

/** A document as responses show it. */
export type Doc = {_id: string; _creationTime: number; _updateTime: number; [field: string]: unknown};
export type Page = {data: Doc[]; next_cursor: string | null; has_more: boolean};
type Headers = Record<string, string | undefined>;

export class Tenant {
  readonly service: Service;
  readonly id: string;

  /** A tenant that exists. */
  static of(service: Service, id: string): Tenant {
    return new Tenant(service, id);
  }

  private constructor(service: Service, id: string) {
    this.service = service;
    this.id = id;
  }

  /** A new, empty tenant. */
  static async make(service: Service): Promise<Tenant> {
    return new Tenant(service, await service.tenant());
  }

  /** @param path below the tenant's, `/documents` for instance */
  request(method: string, path: string, body?: unknown, headers?: Headers): Promise<Reply> {
    return this.service.request(method, `/api/tenants/${this.id}${path}`, body, headers);
  }

  /** @param fields an object, or its JSON text where the text itself matters */
  async insert(table: string, fields: object | string, headers?: Headers): Promise<string> {
    const text = typeof fields === 'string' ? fields : JSON.stringify(fields);
    const {id}: {id: string} = await this.#ok(
      201,
      this.request('POST', '/documents', `{"table":${JSON.stringify(table)},"fields":${text}}`, headers),
    );
    return id;
  }

  /** Many at once, with so many requests in flight. */
  async insertAll(table: string, documents: object[], inFlight = 64): Promise<void> {
    const waiting = documents.values();
    const insertRest = async () => {
      for (const fields of waiting) await this.insert(table, fields);
    };
    await Promise.all(Array.from({length: inFlight}, insertRest));
  }

  async get(table: string, id: string): Promise<Doc> {
    const {document}: {document: Doc} = await this.#ok(200, this.request('GET', `/documents/${table}/${id}`));
    return document;
  }

  async list(table: string): Promise<Doc[]> {
    const {data}: {data: Doc[]} = await this.#ok(200, this.request('GET', `/documents/${table}`));
    return data;
  }

  async patch(table: string, id: string, patch: object): Promise<void> {
    await this.#ok(200, this.request('PATCH', `/documents/${table}/${id}`, {patch}));
  }

  async delete(table: string, id: string): Promise<void> {
    await this.#ok(204, this.request('DELETE', `/documents/${table}/${id}`));
  }

  async query(query: object): Promise<Doc[]> {
    const {data}: {data: Doc[]} = await this.#ok(200, this.request('POST', '/query', query));
    return data;
  }

  page(body: object): Promise<Page> {
    return this.#ok(200, this.request('POST', '/query/paginated', body));
  }

  async putSchema(table: string, fields: object[], indexes: object[] = []): Promise<void> {
    await this.#ok(204, this.request('PUT', `/schema/${table}`, {table, fields, indexes}));
  }

  async #ok(status: number, reply: Promise<Reply>): Promise<never> {
    const {status: found, text, body} = await reply;
    if (found !== status) throw new Error(`expected ${status}, got ${found} ${text.slice(0, 500)}`);
    return body;
  }
}

export type ErrorBody = {code: string; message: string; detail?: Record<string, unknown>};

/** The reply is this error in the one envelope, with nothing of the service's insides in it. */
export function expectError(reply: Reply, status: number, code: string): ErrorBody {
  expect({status: reply.status, text: reply.text}).toEqual({
    status,
    text: expect.stringContaining(`"code":${JSON.stringify(code)}`),
  });
  expect(reply.headers['content-type']).toBe('application/json');
  expect(reply.headers['x-request-id']).toMatch(/^[\x21-\x7e]{1,64}$/);
  const {error, ...rest}: {error: ErrorBody} = reply.body;
  expect(rest).toEqual({});
  expect(error.code).toBe(code);
  expect(error.message).toMatch(/\S/);
  expect(Object.keys(error).filter(key => !['code', 'message', 'detail'].includes(key))).toEqual([]);
  expect(reply.text).not.toMatch(/\.[cm]?[jt]s:\d+|\bat \w+ \(|SqliteError|node_modules/);
  return error;
}
