/** Wire type of every error answer. Its codes, and the status of each, are in `errors.ts`. */
import Type from 'typebox';
import {ERROR_STATUS, type ErrorCode} from '../errors.ts';

export const ErrorEnvelope = Type.Object({
  error: Type.Object({
    code: Type.Enum(Object.keys(ERROR_STATUS) as ErrorCode[]),
    message: Type.String({description: 'what was wrong with this input and what would be right; for people'}),
    detail: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'particulars for programs; their shape belongs to the code',
      }),
    ),
  }),
});
