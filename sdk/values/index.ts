/** Entry point `svc/values`, with validators and the types of values and ids. It runs in any JavaScript environment. */
export {ValueError} from '../../shared/values/wire-value.ts';
export {compareValues, getDocumentSize, type JsonValue, jsonToSvc, svcToJson} from './convert.ts';
export {asObjectValidator, type ValidatorBuilder, v} from './v.ts';
export type {
  GenericValidator,
  Infer,
  ObjectType,
  OptionalProperty,
  PropertyValidators,
  VAny,
  VArray,
  Validator,
  ValidatorJson,
  VBoolean,
  VFloat64,
  VId,
  VLiteral,
  VNull,
  VObject,
  VOptional,
  VString,
  VUnion,
} from './validators.ts';
export type {GenericId, GenericId as Id, Value} from './value.ts';
