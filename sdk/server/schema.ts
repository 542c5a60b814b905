/**
 * Defines the schema in `svc/schema.ts`, with its tables, their fields and indexes. Only definitions that cannot be
 * represented fail here. A deploy checks the definition as a whole and lists all errors.
 */
import type {SchemaDefinition as SchemaJson, SchemaTable} from '../../shared/protocol/functions.ts';
import type {Any} from '../values/any.ts';
import {isValidator} from '../values/construction.ts';
import {asObjectValidator} from '../values/v.ts';
import type {GenericValidator, ObjectType, PropertyValidators, VObject} from '../values/validators.ts';
import type {Expand} from '../values/value.ts';
import type {
  AnyDataModel,
  GenericTableIndexes,
  IdField,
  SystemFieldNames,
  SystemFields,
  SystemIndexes,
} from './data-model.ts';

/** A table. `index` adds an index to it, and to its type. */
export interface TableDefinition<
  DocumentType extends VObject<Any, Any> = VObject<Any, Any>,
  Indexes extends GenericTableIndexes = Record<never, string[]>,
> {
  /** The validator of the table's documents. */
  readonly validator: DocumentType;
  /**
   * Adds an index: documents sorted by these fields, so that a range can be read without scanning others. The creation
   * time is always the last field of an index.
   */
  index<IndexName extends string, First extends DocumentType['fieldPaths'], Rest extends DocumentType['fieldPaths'][]>(
    name: IndexName,
    fields: [First, ...Rest],
  ): TableDefinition<DocumentType, Expand<Indexes & Record<IndexName, [First, ...Rest]>>>;
  /** @internal The definition as a deployment stores it. */
  export(name: string): SchemaTable;
  /** Exists in types only. */
  readonly _indexes?: Indexes;
}

export type GenericSchema = Record<string, TableDefinition<Any, Any>>;

export interface SchemaDefinition<Schema extends GenericSchema, StrictTableTypes extends boolean> {
  readonly tables: Schema;
  readonly strictTableNameTypes: StrictTableTypes;
  readonly isSvcSchema: true;
  /** JSON of the definition. */
  export(): string;
}

export interface DefineSchemaOptions<StrictTableNameTypes extends boolean> {
  /** False: types and indexes apply, but documents are not checked. Default: true. */
  schemaValidation?: boolean;
  /** False: the types allow tables that are not in the schema. Default: true. */
  strictTableNameTypes?: StrictTableNameTypes;
}

class Table {
  readonly validator: GenericValidator;
  /** In the form that libraries read. */
  readonly indexes: {indexDescriptor: string; fields: string[]}[] = [];

  constructor(validator: GenericValidator) {
    this.validator = validator;
  }

  index(name: unknown, fields: unknown): this {
    if (typeof name !== 'string') throw new Error('index(name, fields): the name must be a string');
    if (!Array.isArray(fields) || fields.some(field => typeof field !== 'string')) {
      throw new Error(`index('${name}', fields): the fields must be an array of strings`);
    }
    this.indexes.push({indexDescriptor: name, fields: [...fields]});
    return this;
  }

  searchIndex(): never {
    throw new Error('searchIndex is not supported');
  }

  vectorIndex(): never {
    throw new Error('vectorIndex is not supported');
  }

  export(name: string): SchemaTable {
    const indexes = this.indexes.map(({indexDescriptor, fields}) => ({name: indexDescriptor, fields}));
    return {name, document: this.validator.json, indexes};
  }
}

const SYSTEM_FIELDS: SystemFieldNames[] = ['_id', '_creationTime', '_updateTime'];

/**
 * Defines a table.
 * @param fields the table's own fields; system fields are added to every document
 * @throws Error when a field has the name of a system field
 */
export function defineTable<Fields extends PropertyValidators>(
  fields: Fields,
): TableDefinition<VObject<ObjectType<Fields>, Fields>>;
export function defineTable<DocumentType extends VObject<Any, Any>>(
  fields: DocumentType,
): TableDefinition<DocumentType>;
export function defineTable(fields: unknown): TableDefinition<Any> {
  const validator = tableValidator(fields);
  for (const field of SYSTEM_FIELDS) {
    if (Object.hasOwn(validator.fields, field)) throw new Error(`defineTable: '${field}' is a system field`);
  }
  return new Table(validator) as unknown as TableDefinition<Any>;
}

function tableValidator(fields: unknown): GenericValidator & {kind: 'object'} {
  if (!isValidator(fields)) return asObjectValidator(fields as PropertyValidators);
  const validator = fields as unknown as GenericValidator;
  if (validator.kind === 'object') return validator;
  const name = validator.kind === 'float64' ? 'number' : validator.kind;
  throw new Error(`defineTable(v.${name}(…)) is not supported: pass an object of field validators`);
}

/** Defines the schema: the default export of `svc/schema.ts`. */
export function defineSchema<Schema extends GenericSchema, StrictTableNameTypes extends boolean = true>(
  tables: Schema,
  options?: DefineSchemaOptions<StrictTableNameTypes>,
): SchemaDefinition<Schema, StrictTableNameTypes> {
  for (const [name, table] of Object.entries(tables)) {
    if (!isTable(table)) throw new Error(`defineSchema: table '${name}' must be made with defineTable(…)`);
  }
  return {
    tables,
    strictTableNameTypes: (options?.strictTableNameTypes ?? true) as StrictTableNameTypes,
    isSvcSchema: true,
    export: () => JSON.stringify(schemaJson(tables, options?.schemaValidation ?? true)),
  };
}

function schemaJson(tables: GenericSchema, schemaValidation: boolean): SchemaJson {
  return {tables: Object.entries(tables).map(([name, table]) => exported(name, table)), schemaValidation};
}

type TableLike = Pick<Table, 'validator' | 'indexes'>;

/** Libraries have table classes of their own with the same members. */
function isTable(table: unknown): table is TableLike {
  if (typeof table !== 'object' || table === null) return false;
  const {validator, indexes} = table as Partial<TableLike>;
  return isValidator(validator) && Array.isArray(indexes);
}

function exported(name: string, table: unknown): SchemaTable {
  if (table instanceof Table) return table.export(name);
  const {validator, indexes} = table as TableLike;
  // Libraries add fields to a validator after it was created, so its JSON does not contain them.
  const made = new Table(tableValidator(validator.kind === 'object' ? validator.fields : validator));
  for (const {indexDescriptor, fields} of indexes) made.index(indexDescriptor, fields);
  return made.export(name);
}

/** The data model of a schema, for generated code. */
export type DataModelFromSchemaDefinition<Schema extends SchemaDefinition<Any, boolean>> = LooseUnlessStrict<
  {
    [TableName in keyof Schema['tables'] & string]: TableInfo<TableName, Schema['tables'][TableName]>;
  },
  Schema['strictTableNameTypes']
>;

type TableInfo<TableName extends string, Definition> =
  Definition extends TableDefinition<infer DocumentType, infer Indexes>
    ? {
        document: Expand<IdField<TableName> & SystemFields & DocumentType['type']>;
        fieldPaths: SystemFieldNames | DocumentType['fieldPaths'];
        indexes: Expand<Indexes & SystemIndexes>;
      }
    : never;

type LooseUnlessStrict<DataModel, Strict extends boolean> = Strict extends true
  ? DataModel
  : Expand<DataModel & AnyDataModel>;
