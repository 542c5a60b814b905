/**
 * Collects the operations of a transaction and sends them in one request. No outcome is known before all of them are
 * done.
 */
import type {Changes, Doc, TableName, UniqueIndex} from './types.ts';

/** Stands for the id of the document that an earlier operation of the same transaction writes. */
export type Reference = {readonly $ref: number};

/** The same type, where any string can also be a reference. */
export type WithReferences<T> = T extends string
  ? T | Reference
  : T extends object
    ? {[Member in keyof T]: WithReferences<T[Member]>}
    : T;

/** The outcome of each operation, by position. A `delete` has no version; a `schedule` has only `job_id`. */
export type TransactionResult = {
  readonly id?: string;
  readonly version?: string;
  readonly created?: boolean;
  readonly job_id?: string;
};

type Condition = {readonly ifVersion?: string};
type Id = string | Reference;

/** A write to run later. */
export type ScheduledMutation<Tables> = {
  readonly [Table in TableName<Tables>]:
    | {readonly type: 'insert'; readonly table: Table; readonly fields: WithReferences<Tables[Table]>; readonly id?: Id}
    | {
        readonly type: 'update';
        readonly table: Table;
        readonly id: Id;
        readonly patch: WithReferences<Partial<Tables[Table]>>;
      }
    | {readonly type: 'delete'; readonly table: Table; readonly id: Id};
}[TableName<Tables>];

export class Transaction<Tables> {
  /** In the wire format. */
  readonly operations: Readonly<Record<string, unknown>>[] = [];

  /** @param id your own id for the document. Default: the service generates one */
  insert<Table extends TableName<Tables>>(table: Table, fields: WithReferences<Tables[Table]>, id?: string): Reference {
    return this.#add({type: 'insert', table, fields, ...(id === undefined ? {} : {id})});
  }

  patch<Table extends TableName<Tables>>(
    table: Table,
    id: Id,
    changes: WithReferences<Changes<Tables[Table]>>,
    condition?: Condition,
  ): Reference {
    return this.#add({type: 'patch', table, id, ...(changes as object), ...matching(condition)});
  }

  /** Replaces an existing document. */
  replace<Table extends TableName<Tables>>(
    table: Table,
    id: Id,
    fields: WithReferences<Tables[Table]>,
    condition?: Condition,
  ): Reference {
    return this.#add({type: 'replace', table, id, fields, ...matching(condition)});
  }

  /** Creates a document from `fields`. If it exists, `changes` are applied to it, or without them it is replaced. */
  upsert<Table extends TableName<Tables>>(
    table: Table,
    which: Id | UniqueIndex,
    fields: WithReferences<Tables[Table]>,
    changes?: WithReferences<Changes<Tables[Table]>>,
    condition?: Condition,
  ): Reference {
    const named = typeof which === 'object' && 'by' in which ? {by: which.by} : {id: which};
    return this.#add({
      type: 'upsert',
      table,
      ...named,
      fields,
      ...(changes as object | undefined),
      ...matching(condition),
    });
  }

  delete<Table extends TableName<Tables>>(table: Table, id: Id, condition?: Condition): Reference {
    return this.#add({type: 'delete', table, id, ...matching(condition)});
  }

  schedule(runAfterMs: number, mutation: ScheduledMutation<Tables>): Reference {
    return this.#add({type: 'schedule', run_after_ms: runAfterMs, mutation});
  }

  #add(operation: Readonly<Record<string, unknown>>): Reference {
    return {$ref: this.operations.push(operation) - 1};
  }
}

function matching({ifVersion}: Condition = {}): {if_match?: string} {
  return ifVersion === undefined ? {} : {if_match: ifVersion};
}

/** Identifies the state of a document that was read: it differs after each change. Pass it as `ifVersion`. */
export function versionOf({_creationTime, _updateTime}: Pick<Doc<object>, '_creationTime' | '_updateTime'>): string {
  return `${_creationTime}-${_updateTime}`;
}
