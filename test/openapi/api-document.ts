/** An OpenAPI document as a client reads it: nothing of svc is known here. */
export type Json = Readonly<Record<string, unknown>>;
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Json;
  example?: unknown;
};
export type Link = {operationId: string; parameters: Readonly<Record<string, string>>};
export type MediaType = {
  schema?: Json;
  example?: unknown;
  examples?: Readonly<Record<string, {value: unknown}>>;
  'x-item-schema'?: Json;
};
export type Content = Readonly<Record<string, MediaType>>;
export type Response = {
  description: string;
  headers?: Readonly<Record<string, {required?: boolean; schema: Json}>>;
  content?: Content;
  links?: Readonly<Record<string, Link>>;
};
export type Operation = {
  id: string;
  tag: string;
  method: string;
  path: string;
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly Parameter[];
  body: MediaType | null;
  /** Of the body: the first that is described. */
  bodyType: string;
  /** By status, or `default`. */
  responses: Readonly<Record<string, Response>>;
};

export class ApiDocument {
  readonly json: Json;
  readonly operations: readonly Operation[];

  constructor(json: Json) {
    this.json = json;
    this.operations = Object.entries(json.paths as Record<string, Record<string, Json>>).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => this.#operation(path, method, operation)),
    );
  }

  operation(id: string): Operation {
    const found = this.operations.find(operation => operation.id === id);
    if (found === undefined) throw new Error(`the document has no operation ${id}`);
    return found;
  }

  /** What is referred to, or the value itself. */
  resolved<T>(value: T): T {
    const {$ref} = (value ?? {}) as {$ref?: unknown};
    if (typeof $ref !== 'string') return value;
    let at: unknown = this.json;
    for (const step of $ref.replace(/^#\//, '').split('/')) at = (at as Json | undefined)?.[step];
    if (at === undefined) throw new Error(`${$ref} refers to nothing`);
    return at as T;
  }

  #operation(path: string, method: string, operation: Json): Operation {
    const body = this.resolved(operation.requestBody as {content: Content} | undefined);
    const responses = Object.entries(operation.responses as Record<string, Response>);
    return {
      id: operation.operationId as string,
      tag: (operation.tags as string[])[0]!,
      method: method.toUpperCase(),
      path,
      security: operation.security as Operation['security'],
      parameters: (operation.parameters as Parameter[]).map(one => this.resolved(one)),
      body: body === undefined ? null : Object.values(body.content)[0]!,
      bodyType: body === undefined ? '' : Object.keys(body.content)[0]!,
      responses: Object.fromEntries(responses.map(([status, one]) => [status, this.#response(this.resolved(one))])),
    };
  }

  #response(response: Response): Response {
    const headers = Object.entries(response.headers ?? {}).map(([name, header]) => [name, this.resolved(header)]);
    return {...response, headers: Object.fromEntries(headers)};
  }
}
