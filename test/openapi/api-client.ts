/**
 * Asks for operations of a document by its examples and its links, and holds every answer against what the document says of it. It
 * knows nothing of svc: paths, bodies, credentials' places and what comes before what are read.
 */
import {once} from 'node:events';
import {type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request} from 'node:http';
import type {Socket} from 'node:net';
import {ApiDocument, type Json, type Operation, type Response} from './api-document.ts';
import {SchemaCheck} from './schema-check.ts';

export type Asked = {
  path: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  /** A string goes out as it is, anything else as JSON. */
  body?: unknown;
  /** Announces so many bytes of a body and sends none. */
  announcedBytes?: number;
  /** Another one than the operation's. */
  method?: string;
};
export type Answered = {status: number; headers: IncomingHttpHeaders; text: string};
type Done = {asked: Asked; answered: Answered};

/** Of HTTP itself. */
const NOT_DESCRIBED = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'uwebsockets',
];
const OF_UPGRADES = ['upgrade', 'sec-websocket-accept', 'sec-websocket-protocol', 'sec-websocket-extensions'];
const SWITCHING_PROTOCOLS = '101';

export class ApiClient {
  readonly document: ApiDocument;
  readonly #schemas: SchemaCheck;
  readonly #url: string;
  readonly #tokens: Readonly<Record<string, string>>;
  /** What was made and is there, by the operation that made it. */
  readonly #made = new Map<string, Done>();

  /** @param tokens by the name of the security scheme */
  constructor(json: Json, url: string, tokens: Readonly<Record<string, string>>) {
    this.document = new ApiDocument(json);
    this.#schemas = new SchemaCheck(json);
    this.#url = url;
    this.#tokens = tokens;
  }

  /** What the examples ask, after what has to be made first. */
  async asked(operation: Operation): Promise<Asked> {
    const linked = await this.#linked(operation);
    const values = (where: string) =>
      Object.fromEntries(
        operation.parameters
          .filter(one => one.in === where && (where === 'path' || one.example !== undefined))
          .map(({name, example}) => [name, linked[name] ?? String(example)]),
      );
    const {body, bodyType} = operation;
    return {
      path: values('path'),
      query: values('query'),
      headers: {
        ...values('header'),
        ...(bodyType === '' ? {} : {'content-type': bodyType}),
        ...this.#credential(operation),
      },
      ...(body?.example === undefined ? {} : {body: body.example}),
    };
  }

  /** Asks by the examples. @returns what is wrong with the answer, a refusal for one */
  async succeed(operation: Operation, asked?: Asked): Promise<string[]> {
    const sent = asked ?? (await this.asked(operation));
    const answered = await this.ask(operation, sent);
    this.#made.set(operation.id, {asked: sent, answered});
    const success = answered.status < 400 ? [] : [`${operation.id} is refused: ${answered.status} ${answered.text}`];
    return [...success, ...this.faults(operation, answered)];
  }

  /** Asks by the examples, and may be refused in a way that is described. */
  async tryIt(operation: Operation): Promise<string[]> {
    return this.faults(operation, await this.ask(operation, await this.asked(operation)));
  }

  /** What the operation took is no longer there. */
  forgetSource({id}: Operation): void {
    const source = this.#sourceOf(id);
    if (source !== null) this.#made.delete(source.id);
  }

  async ask(operation: Operation, {path, query, headers, body, announcedBytes, method}: Asked): Promise<Answered> {
    const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!));
    const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`;
    const text = body === undefined || typeof body === 'string' ? (body as string | undefined) : JSON.stringify(body);
    const length = announcedBytes ?? (text === undefined ? undefined : Buffer.byteLength(text));
    const isUpgrade = SWITCHING_PROTOCOLS in operation.responses && method === undefined;
    const sent = request(`${this.#url}${filled}${search}`, {
      method: method ?? operation.method,
      headers: {
        ...(isUpgrade ? UPGRADE : {}),
        ...(length === undefined ? {} : {'content-length': String(length)}),
        ...headers,
      },
    });
    if (announcedBytes !== undefined) sent.flushHeaders();
    else sent.end(text);
    return await answerOf(sent, announcedBytes !== undefined);
  }

  /** What the document does not say of an answer. */
  faults({id, method, responses}: Operation, {status, headers, text}: Answered, sentMethod = method): string[] {
    const response = responses[status];
    if (response === undefined) {
      return responses.default === undefined ? [`${id} answers ${status}, which is not described: ${text}`] : [];
    }
    const at = `${id} ${status}`;
    const body = sentMethod === 'HEAD' ? [] : this.#bodyFaults(response, headers, text);
    return [...headerFaults(response, headers), ...body].map(fault => `${at}: ${fault}`);
  }

  schemaFaults(schema: Json, value: unknown): string[] {
    return this.#schemas.faults(schema, value);
  }

  #bodyFaults({content}: Response, headers: IncomingHttpHeaders, text: string): string[] {
    if (content === undefined) return text === '' ? [] : [`a body that is not described: ${text.slice(0, 200)}`];
    if ('*/*' in content) return [];
    const type = String(headers['content-type']).split(';')[0]!;
    const media = content[type];
    if (media === undefined) return [`a body of the type ${type}`];
    const item = media['x-item-schema'];
    if (item !== undefined) return itemsOf(type, text).flatMap(value => this.schemaFaults(item, value));
    if (media.schema === undefined) return [];
    return this.schemaFaults(media.schema, type === 'application/json' ? JSON.parse(text) : text);
  }

  /** The first scheme for which there is a token; nothing where none is needed. */
  #credential({security}: Operation): Record<string, string> {
    const schemes = (this.document.json.components as {securitySchemes: Record<string, Json>}).securitySchemes;
    if (security.length === 0 || security.some(one => Object.keys(one).length === 0)) return {};
    for (const name of security.flatMap(one => Object.keys(one))) {
      const token = this.#tokens[name];
      if (token !== undefined) return credentialOf(schemes[name]!, token);
    }
    throw new Error('there is no token for any of its schemes');
  }

  #sourceOf(id: string): Operation | null {
    return (
      this.document.operations.find(({responses}) =>
        Object.values(responses).some(({links}) => links?.[id] !== undefined),
      ) ?? null
    );
  }

  async #linked({id}: Operation): Promise<Record<string, string>> {
    const source = this.#sourceOf(id);
    if (source === null) return {};
    if (!this.#made.has(source.id)) {
      const faults = await this.succeed(source);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    }
    const {parameters} = Object.values(source.responses).find(({links}) => links?.[id] !== undefined)!.links![id]!;
    const done = this.#made.get(source.id)!;
    return Object.fromEntries(
      Object.entries(parameters).map(([name, expression]) => [name, valueAt(expression, done)]),
    );
  }
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16).toString('base64'),
};

/** @param isCut its body is never sent */
async function answerOf(sent: ClientRequest, isCut: boolean): Promise<Answered> {
  const upgraded = once(sent, 'upgrade').then(([response, socket]) => {
    (socket as Socket).destroy();
    return {
      status: (response as IncomingMessage).statusCode!,
      headers: (response as IncomingMessage).headers,
      text: '',
    };
  });
  const answered = once(sent, 'response').then(async ([message]) => {
    const response = message as IncomingMessage;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    if (isCut) sent.destroy();
    return {status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString()};
  });
  return await Promise.race([upgraded, answered]);
}

function credentialOf(scheme: Json, token: string): Record<string, string> {
  if (scheme.type === 'http') return {authorization: `Bearer ${token}`};
  return {[String(scheme.name).toLowerCase()]: token};
}

/** A runtime expression of OpenAPI. */
function valueAt(expression: string, {asked, answered}: Done): string {
  const [, part, name] = /^\$request\.(path|query)\.(\w+)$/.exec(expression) ?? [];
  if (name !== undefined) return asked[part as 'path' | 'query'][name]!;
  const [, where, pointer] = /^\$(request|response)\.body#\/(.*)$/.exec(expression) ?? [];
  if (pointer === undefined) throw new Error(`${expression} is no expression that is known`);
  let value: unknown = where === 'request' ? asked.body : JSON.parse(answered.text);
  for (const step of pointer.split('/')) value = (value as Json)[step];
  return String(value);
}

function headerFaults({headers = {}}: Response, answered: IncomingHttpHeaders): string[] {
  const known = new Set(Object.keys(headers).map(name => name.toLowerCase()));
  const unknown = Object.keys(answered).filter(
    name => ![...NOT_DESCRIBED, ...OF_UPGRADES].includes(name) && !known.has(name),
  );
  const missing = Object.entries(headers).filter(
    ([name, {required}]) => required === true && answered[name.toLowerCase()] === undefined,
  );
  return [
    ...unknown.map(name => `the header ${name} is not described`),
    ...missing.map(([name]) => `the header ${name} is missing`),
  ];
}

/** The values in a text of many. Of events those that have no name of their own. */
function itemsOf(type: string, text: string): unknown[] {
  if (type === 'application/x-ndjson') {
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as unknown);
  }
  return text
    .split('\n\n')
    .filter(event => !/^event:/m.test(event))
    .flatMap(event => /^data: ?(.*)$/m.exec(event)?.[1] ?? [])
    .map(data => JSON.parse(data) as unknown);
}
