/**
 * The type of an app's data, which describes the documents, the field paths and the indexes of each table. Code
 * generation derives it from the schema; without a schema it is `AnyDataModel`.
 */
import type {Any} from '../values/any.ts';
import type {BetterOmit, Expand, GenericId, Value} from '../values/value.ts';

export type GenericDocument = Record<string, Any>;
export type GenericFieldPaths = string;
export type GenericIndexFields = string[];
export type GenericTableIndexes = Record<string, GenericIndexFields>;
export type GenericTableInfo = {
  document: GenericDocument;
  fieldPaths: GenericFieldPaths;
  indexes: GenericTableIndexes;
};
export type GenericDataModel = Record<string, GenericTableInfo>;

/** Allows every table name; documents are untyped. */
export type AnyDataModel = {
  [TableName in string]: {document: Any; fieldPaths: string; indexes: Record<string, string[]>};
};

export type TableNamesInDataModel<DataModel extends GenericDataModel> = keyof DataModel & string;
export type NamedTableInfo<
  DataModel extends GenericDataModel,
  TableName extends keyof DataModel,
> = DataModel[TableName];
export type DocumentByInfo<TableInfo extends GenericTableInfo> = TableInfo['document'];
export type DocumentByName<
  DataModel extends GenericDataModel,
  TableName extends TableNamesInDataModel<DataModel>,
> = DataModel[TableName]['document'];
export type FieldPaths<TableInfo extends GenericTableInfo> = TableInfo['fieldPaths'];
export type Indexes<TableInfo extends GenericTableInfo> = TableInfo['indexes'];
export type IndexNames<TableInfo extends GenericTableInfo> = keyof Indexes<TableInfo>;
export type NamedIndex<
  TableInfo extends GenericTableInfo,
  IndexName extends IndexNames<TableInfo>,
> = Indexes<TableInfo>[IndexName];

/** The fields that every document has in addition to `_id` and the declared ones. Times are epoch milliseconds. */
export type SystemFields = {_creationTime: number; _updateTime: number};
export type IdField<TableName extends string> = {_id: GenericId<TableName>};
export type SystemFieldNames = '_id' | '_creationTime' | '_updateTime';

export type SystemIndexes = {by_id: ['_id']; by_creation_time: ['_creationTime']};
/** Appended to every index. */
export type IndexTiebreakerField = '_creationTime';

/** The argument of `db.insert`: a document without system fields. */
export type WithoutSystemFields<Document> = Expand<BetterOmit<Document, SystemFieldNames>>;
export type WithOptionalSystemFields<Document> = Expand<
  WithoutSystemFields<Document> & Partial<Pick<Document, Extract<keyof Document, SystemFieldNames>>>
>;

/** The argument of `db.patch`: some fields. `undefined` removes an optional field. */
export type PatchValue<Document> = {
  [Key in keyof Document]?: undefined extends Document[Key] ? Document[Key] | undefined : Document[Key];
};

/** The type at a dotted path; includes `undefined` if some documents have no value there. */
export type FieldTypeFromFieldPath<Document, FieldPath extends string> =
  TypeAtPath<Document, FieldPath> extends infer Type
    ? [Type] extends [Value | undefined]
      ? Type
      : Value | undefined
    : never;

type TypeAtPath<Document, FieldPath extends string> = FieldPath extends `${infer Field}.${infer Rest}`
  ? TypeInField<TypeOfField<Document, Field>, Rest>
  : TypeOfField<Document, FieldPath>;

type TypeInField<Holder, Rest extends string> =
  Holder extends Record<string, unknown> ? TypeAtPath<Holder, Rest> : Holder extends unknown ? undefined : never;

type TypeOfField<Document, Field extends string> = Document extends unknown
  ? Field extends keyof Document
    ? Document[Field]
    : undefined
  : never;
