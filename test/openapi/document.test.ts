/** The document of the API says of every route what its tables say, in a form that any reader of OpenAPI takes. */
import {fileURLToPath} from 'node:url';
import {beforeAll, describe, expect, test} from 'vitest';
import {openApiDocument} from '../../build/openapi/document.ts';
import {ROUTES} from '../../router/routes.ts';
import {OPERATION_TYPES, type OperationTypes} from '../../shared/operation-types.ts';
import {ApiDocument, type Json, type MediaType, type Operation} from './api-document.ts';
import {documentFaults, SchemaCheck} from './schema-check.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ANY_METHOD = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

let api: ApiDocument;
let schemas: SchemaCheck;
beforeAll(async () => {
  api = new ApiDocument(JSON.parse(JSON.stringify(await openApiDocument(ROOT, '1.2.3'))) as Json);
  schemas = new SchemaCheck(api.json);
});

function mediaOf({body, responses}: Operation): MediaType[] {
  const answers = Object.values(responses).flatMap(({content = {}}) => Object.values(content));
  return body === null ? answers : [body, ...answers];
}

describe('the document of the API', () => {
  test('is one, by the schema of OpenAPI 3.1', () => {
    expect(documentFaults(api.json)).toEqual([]);
    expect(documentFaults({...api.json, paths: {'/x': {get: {responses: {'200': {}}}}}})).not.toEqual([]);
  });

  test('has every route of the server, and no other', () => {
    const described = ROUTES.filter(({pattern}) => !pattern.startsWith('/_dashboard/'));
    const served = described.flatMap(({method, pattern}) =>
      (method === '*' ? ANY_METHOD : [method]).map(one => `${one} ${pattern.replace('{*', '{')}`),
    );
    expect(api.operations.map(({method, path}) => `${method} ${path}`).sort()).toEqual(served.sort());
  });

  test('is understood by generators: what an object may hold is said by its members alone', () => {
    const all: Record<string, unknown>[] = [];
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if (!Array.isArray(value)) all.push(value as Record<string, unknown>);
      for (const inner of Object.values(value)) collect(inner);
    };
    collect((api.json as {components: {schemas: object}}).components.schemas);
    collect(api.json.paths);
    const isOpen = ({type, properties, additionalProperties}: Record<string, unknown>) =>
      type === 'object' && JSON.stringify(properties) === '{}' && additionalProperties === undefined;
    expect(all.filter(isOpen)).toEqual([]);
    expect(all.filter(({properties, anyOf}) => properties !== undefined && anyOf !== undefined)).toEqual([]);
    const {Filter, FilterInOr, InnermostFilter} = (api.json as {components: {schemas: Record<string, Json>}}).components
      .schemas;
    expect([Filter, FilterInOr]).toMatchObject([
      {anyOf: [{required: ['field', 'op', 'value']}, {required: ['or']}]},
      {anyOf: [{required: ['field', 'op', 'value']}, {required: ['or']}]},
    ]);
    expect(InnermostFilter).toMatchObject({required: ['field', 'op', 'value'], additionalProperties: false});
  });

  test('names every operation once, with a tag of its list and a summary of one line', () => {
    const tags = new Set((api.json.tags as {name: string}[]).map(({name}) => name));
    const ids = api.operations.map(({id}) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const {tag, path, method} of api.operations) {
      expect(tags).toContain(tag);
      const {summary} = (api.json.paths as Record<string, Record<string, {summary: string}>>)[path]![
        method.toLowerCase()
      ]!;
      expect(summary).toMatch(/^[A-Z].{4,90}[^.\s]$/);
    }
  });

  test('describes every parameter of every path', () => {
    for (const {path, parameters} of api.operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parameters.filter(one => one.in === 'path').map(({name}) => name)).toEqual(named);
    }
  });

  test('has an example of every body, answer and parameter of a path, as its schema wants them', () => {
    const unlike: string[] = [];
    for (const operation of api.operations) {
      const {id, parameters} = operation;
      for (const {name, in: where, schema, example} of parameters) {
        if (where === 'path' || example !== undefined)
          unlike.push(...schemas.faults(schema, example).map(fault => `${id} ${name}: ${fault}`));
      }
      for (const media of mediaOf(operation)) {
        const {schema, example, examples, 'x-item-schema': item} = media;
        if (schema === undefined) continue;
        const values = examples === undefined ? [example] : Object.values(examples).map(({value}) => value);
        if (item !== undefined)
          unlike.push(...schemas.faults(item, JSON.parse(String(example).replace(/^data: /, ''))));
        for (const value of values) unlike.push(...schemas.faults(schema, value).map(fault => `${id}: ${fault}`));
      }
    }
    expect(unlike).toEqual([]);
  });

  test('says of every operation what errors it answers with', () => {
    for (const {responses, id} of api.operations) {
      const statuses = Object.keys(responses);
      expect([id, statuses]).toEqual([id, expect.arrayContaining(['400', '500', '503'])]);
    }
  });

  test('uses each header that it describes, those of rate limits among them', () => {
    const text = JSON.stringify(api.json);
    const unused = Object.keys((api.json.components as Json).headers as Json).filter(
      name => !text.includes(`{"$ref":"#/components/headers/${name}"}`),
    );
    expect(unused).toEqual([]);
  });

  test('links to operations that there are, with parameters that they have', () => {
    const linked = api.operations.flatMap(({responses}) =>
      Object.values(responses).flatMap(({links = {}}) => Object.values(links)),
    );
    expect(linked.length).toBeGreaterThan(20);
    for (const {operationId, parameters} of linked) {
      const names = api.operation(operationId).parameters.map(({name}) => name);
      expect([operationId, names]).toEqual([operationId, expect.arrayContaining(Object.keys(parameters))]);
    }
  });

  test('refuses members of bodies exactly where the server does', () => {
    for (const [name, types] of Object.entries<OperationTypes>(OPERATION_TYPES)) {
      if (types.body === undefined) continue;
      const isClosed = (types.body as {additionalProperties?: unknown}).additionalProperties === false;
      const {schema} = api.operation(name).body!;
      expect([name, api.resolved(schema as Json).additionalProperties === false]).toEqual([name, isClosed]);
    }
  });
});
