/** The serialised form of a validator, as `v.…` builds it and deployments store it. */
export type ValidatorJson =
  | {type: 'any' | 'null' | 'string' | 'number' | 'boolean'}
  | {type: 'id'; tableName: string}
  | {type: 'literal'; value: string | number | boolean}
  | {type: 'array'; value: ValidatorJson}
  | {type: 'object'; value: Record<string, {fieldType: ValidatorJson; optional: boolean}>}
  | {type: 'union'; value: ValidatorJson[]};
