/**
 * Wire types of transactions. POST /api/tenants/{tenant_id}/transactions
 *
 * Operations run in order, in one commit and one journal record, all or none. `{"$ref": n}` stands for the id that the
 * earlier operation n wrote (for a `schedule`, its job's id): as an `id`, and anywhere inside `fields`, `patch`,
 * `append`, `remove` and `mutation`. No value can have such a key, so it cannot be data.
 */
import Type, {type Static} from 'typebox';
import {RUN_AFTER_MS_MAX, TRANSACTION_OPERATIONS_MAX} from '../limits.ts';
import {PatchBody} from './documents.ts';
import {Mutation, MutationTag} from './schedule.ts';

const Reference = Type.Object({$ref: Type.Integer({minimum: 0})}, {additionalProperties: false});
const Id = Type.Union([Type.String(), Reference]);
const Fields = Type.Object({}, {description: "the document's own fields, all of them"});
const closed = {additionalProperties: false} as const;
const table = {table: Type.String()};
const condition = {
  if_match: Type.Optional(Type.String({description: 'the version that the document must have; *: any'})),
};
const changes = PatchBody.properties;

export const InsertOperation = Type.Object(
  {
    type: Type.Literal('insert'),
    ...table,
    fields: Fields,
    id: Type.Optional(Type.String({description: 'chosen by the caller; unique in the tenant'})),
  },
  closed,
);
export const PatchOperation = Type.Object(
  {type: Type.Literal('patch'), ...table, id: Id, ...condition, ...changes},
  closed,
);
export const ReplaceOperation = Type.Object(
  {type: Type.Literal('replace'), ...table, id: Id, fields: Fields, ...condition},
  closed,
);
export const UpsertOperation = Type.Object(
  {
    type: Type.Literal('upsert'),
    ...table,
    id: Type.Optional(Id),
    by: Type.Optional(
      Type.String({description: 'in place of id, a unique index: the document that has the values of fields in it'}),
    ),
    fields: Fields,
    ...condition,
    ...changes,
  },
  {
    ...closed,
    description: 'makes the document, or replaces it; with any change of a patch, one that is there is changed so',
  },
);
export const DeleteOperation = Type.Object({type: Type.Literal('delete'), ...table, id: Id, ...condition}, closed);
const scheduled = {
  type: Type.Literal('schedule'),
  run_after_ms: Type.Number({minimum: 0, maximum: RUN_AFTER_MS_MAX}),
};
export const ScheduleOperation = Type.Object({...scheduled, mutation: Mutation}, closed);
/** Validated before its mutation, so that a message can name the invalid field. */
export const ScheduleOperationEnvelope = Type.Object({...scheduled, mutation: MutationTag}, closed);

const OPERATION_KINDS = ['insert', 'patch', 'replace', 'upsert', 'delete', 'schedule'] as const;

const envelope = {
  dry_run: Type.Optional(Type.Boolean({description: 'true: everything is rolled back, and the results are returned'})),
};
const size = {minItems: 1, maxItems: TRANSACTION_OPERATIONS_MAX};

/** Validated before the operations, so that a message can name the invalid one. */
export const TransactionEnvelope = Type.Object(
  {operations: Type.Array(Type.Object({type: Type.Enum([...OPERATION_KINDS])}), size), ...envelope},
  closed,
);
export type TransactionEnvelope = Static<typeof TransactionEnvelope>;

export const TransactionBody = Type.Object(
  {
    operations: Type.Array(
      Type.Union([
        InsertOperation,
        PatchOperation,
        ReplaceOperation,
        UpsertOperation,
        DeleteOperation,
        ScheduleOperation,
      ]),
      size,
    ),
    ...envelope,
  },
  closed,
);

export const TransactionResult = Type.Object({
  results: Type.Array(
    Type.Union([
      Type.Object({job_id: Type.String()}),
      Type.Object({
        id: Type.String(),
        version: Type.Optional(
          Type.String({description: 'its ETag without the quotes; absent for a deleted document'}),
        ),
        created: Type.Optional(Type.Boolean({description: 'of an upsert: the document was not there'})),
      }),
    ]),
    {description: 'by position'},
  ),
});
