/** Wire type of an upload. Its meaning is with the types in `functions.ts`. */
import Type from 'typebox';
import {BUNDLE_FILES_MAX, BUNDLE_PATH_CHARS_MAX, DEPLOYMENT_MESSAGE_CHARS_MAX} from '../limits.ts';

const BundlePath = Type.String({maxLength: BUNDLE_PATH_CHARS_MAX});

/** POST …/deployments */
export const DeploymentUploadBody = Type.Object({
  files: Type.Array(
    Type.Object({path: BundlePath, source: Type.String(), sourceMap: Type.Union([Type.String(), Type.Null()])}),
    {maxItems: BUNDLE_FILES_MAX},
  ),
  modules: Type.Array(BundlePath, {maxItems: BUNDLE_FILES_MAX}),
  runtimes: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.Literal('default'), Type.Literal('node'), Type.Literal('bun')])),
  ),
  node: Type.Optional(Type.Object({version: Type.String()})),
  schema: Type.Union([BundlePath, Type.Null()]),
  authConfig: Type.Union([BundlePath, Type.Null()]),
  modifiedMs: Type.Number({minimum: 0, maximum: 8.64e15}),
  message: Type.Union([Type.String({maxLength: DEPLOYMENT_MESSAGE_CHARS_MAX}), Type.Null()]),
  dryRun: Type.Boolean(),
  development: Type.Optional(Type.Boolean()),
});
