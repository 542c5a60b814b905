/**
 * Converts wire types to the schemas of an OpenAPI document. An export of a module of `shared/protocol` becomes a
 * component with that name; other types are written inline. Records are written with `additionalProperties`, which
 * readers and generators understand.
 */

import type {TSchema} from 'typebox';
import {isObject} from '../../shared/values/shapes.ts';

export type Schema = {readonly [keyword: string]: unknown};
type Named = ReadonlyMap<object, string>;

const EVERY_KEY = ['^.*$', '^[\\s\\S]*$'];

export class Schemas {
  /** The components that the document refers to. */
  readonly components: Record<string, Schema> = {};
  readonly #names: Named;

  /** @param modules of wire types */
  constructor(modules: readonly Readonly<Record<string, unknown>>[]) {
    const names = new Map<object, string>();
    for (const module of modules) {
      for (const [name, value] of Object.entries(module)) {
        if (typeof value === 'object' && value !== null && '~kind' in value && !names.has(value))
          names.set(value, name);
      }
    }
    this.#names = names;
  }

  /** The schema, or a reference to it. */
  of(type: TSchema): Schema {
    const name = this.#names.get(type);
    // A schema that refers to itself by its own name includes its component.
    const isCyclic = '$ref' in type && type.$ref === name;
    return name === undefined || isCyclic ? this.#written(type) : this.#component(name, type);
  }

  #component(name: string, type: object): Schema {
    const before = this.components[name];
    if (before === undefined) this.components[name] = {}; // It can refer to itself.
    const schema = this.#written(type);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(schema) && Object.keys(before).length > 0) {
      throw new Error(`two wire types are called ${name}`);
    }
    this.components[name] = schema;
    return refTo(name);
  }

  #written(type: object): Schema {
    const {$defs, $ref, $id, patternProperties, ...rest} = type as Record<string, unknown>;
    if (typeof $ref === 'string') {
      for (const [name, defined] of Object.entries($defs ?? {})) {
        if (!(name in this.components)) this.#component(name, defined as object);
      }
      return {...refTo($ref), ...rest};
    }
    const alternatives = alternativesIn(rest);
    if (alternatives !== null) return {anyOf: alternatives.map(one => this.#written(one))};
    const schema: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(rest)) schema[keyword] = this.#keyword(keyword, value);
    if (isOpen(schema)) {
      delete schema.properties;
      schema.additionalProperties = true;
    }
    if (isNonEmpty(patternProperties)) Object.assign(schema, this.#record(patternProperties));
    if (Array.isArray(schema.enum) && schema.enum.every(one => typeof one === 'string')) schema.type = 'string';
    return schema;
  }

  #keyword(keyword: string, value: unknown): unknown {
    if (keyword === 'properties') {
      const entries = Object.entries(value as Record<string, TSchema>);
      return Object.fromEntries(entries.map(([name, member]) => [name, this.of(member)]));
    }
    if (keyword === 'anyOf' || keyword === 'allOf' || keyword === 'oneOf')
      return (value as TSchema[]).map(one => this.of(one));
    if (keyword === 'items' || keyword === 'additionalProperties')
      return typeof value === 'object' && value !== null ? this.of(value as TSchema) : value;
    return value;
  }

  #record(patterns: Readonly<Record<string, unknown>>): Schema {
    const [[pattern, value] = ['', {}], ...more] = Object.entries(patterns);
    if (more.length > 0) throw new Error('a record with several kinds of keys cannot be written');
    const schema = this.of(value as TSchema);
    if (EVERY_KEY.includes(pattern)) return {additionalProperties: schema};
    return {patternProperties: {[pattern]: schema}};
  }
}

export function refTo(name: string): Schema {
  return {$ref: `#/components/schemas/${name}`};
}

/** An object with any members: without `additionalProperties`, generators read it as an object without members. */
function isOpen({type, properties, additionalProperties}: Record<string, unknown>): boolean {
  return type === 'object' && isObject(properties) && !isNonEmpty(properties) && additionalProperties === undefined;
}

/**
 * A closed object of which either these or those members are required, as separate objects: generators do not
 * understand alternatives of required members. Null: it is not such an object.
 */
function alternativesIn({anyOf, ...type}: Record<string, unknown>): Record<string, unknown>[] | null {
  const {properties, additionalProperties} = type;
  if (!Array.isArray(anyOf) || additionalProperties !== false || !isObject(properties)) return null;
  const choices = (anyOf as {required?: string[]}[]).map(({required = []}) => required);
  return choices.map(required => {
    const others = choices.flat().filter(name => !required.includes(name));
    const members = Object.entries(properties).filter(([name]) => !others.includes(name));
    return {...type, required, properties: Object.fromEntries(members)};
  });
}

function isNonEmpty(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
