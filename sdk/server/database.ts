/** The types of `ctx.db`, for reading in queries and also writing in mutations. */
import type {GenericId} from '../values/value.ts';
import type {
  DocumentByName,
  GenericDataModel,
  NamedTableInfo,
  PatchValue,
  TableNamesInDataModel,
  WithoutSystemFields,
} from './data-model.ts';
import type {QueryInitializer} from './query.ts';

export interface GenericDatabaseReader<DataModel extends GenericDataModel> {
  /** Resolves with null if there is no such document. */
  get<TableName extends TableNamesInDataModel<DataModel>>(
    id: GenericId<TableName>,
  ): Promise<DocumentByName<DataModel, TableName> | null>;
  query<TableName extends TableNamesInDataModel<DataModel>>(
    tableName: TableName,
  ): QueryInitializer<NamedTableInfo<DataModel, TableName>>;
}

export interface GenericDatabaseWriter<DataModel extends GenericDataModel> extends GenericDatabaseReader<DataModel> {
  /** @returns the new document's id */
  insert<TableName extends TableNamesInDataModel<DataModel>>(
    table: TableName,
    value: WithoutSystemFields<DocumentByName<DataModel, TableName>>,
  ): Promise<GenericId<TableName>>;
  /** Replaces the given fields; `undefined` removes one. @throws Error when there is no such document */
  patch<TableName extends TableNamesInDataModel<DataModel>>(
    id: GenericId<TableName>,
    value: PatchValue<DocumentByName<DataModel, TableName>>,
  ): Promise<void>;
  /** @throws Error when there is no such document */
  delete(id: GenericId<TableNamesInDataModel<DataModel>>): Promise<void>;
}
