/** Wire type of an upload. The types in `functions.ts` document its meaning. */
import Type, {type Static} from 'typebox';
import {BUNDLE_FILES_MAX, BUNDLE_PATH_CHARS_MAX, DEPLOYMENT_MESSAGE_CHARS_MAX, PACKAGES_MAX} from '../limits.ts';
import {AnyKey} from './any-key.ts';

const BundlePath = Type.String({maxLength: BUNDLE_PATH_CHARS_MAX});

/** SHA-512 of a tarball, hex. */
const Sha512 = Type.String({pattern: '^[0-9a-f]{128}$'});
const ExternalPackage = Type.Object({
  path: BundlePath,
  version: Type.String({maxLength: BUNDLE_PATH_CHARS_MAX}),
  sha512: Sha512,
  optional: Type.Optional(Type.Boolean()),
});

/** POST …/packages/missing */
export const PackagesBody = Type.Object({
  packages: Type.Array(Sha512, {maxItems: PACKAGES_MAX, description: 'SHA-512 of tarballs, hex'}),
});
export type PackagesBody = Static<typeof PackagesBody>;
export const MissingPackages = Type.Object({
  missing: Type.Array(Sha512, {description: 'those that are to be sent before they are deployed'}),
});

/** POST …/deployments */
export const DeploymentUploadBody = Type.Object({
  files: Type.Array(
    Type.Object({path: BundlePath, source: Type.String(), sourceMap: Type.Union([Type.String(), Type.Null()])}),
    {maxItems: BUNDLE_FILES_MAX},
  ),
  sources: Type.Optional(
    Type.Array(Type.Object({path: BundlePath, text: Type.String()}), {
      maxItems: BUNDLE_FILES_MAX,
      description: 'the original sources, which only people read',
    }),
  ),
  modules: Type.Array(BundlePath, {maxItems: BUNDLE_FILES_MAX}),
  runtimes: Type.Optional(
    Type.Record(AnyKey, Type.Union([Type.Literal('default'), Type.Literal('node'), Type.Literal('bun')])),
  ),
  node: Type.Optional(
    Type.Object({
      version: Type.String(),
      packages: Type.Optional(Type.Array(ExternalPackage, {maxItems: PACKAGES_MAX})),
    }),
  ),
  schema: Type.Union([BundlePath, Type.Null()]),
  authConfig: Type.Union([BundlePath, Type.Null()]),
  modifiedMs: Type.Number({minimum: 0, maximum: 8.64e15}),
  message: Type.Union([Type.String({maxLength: DEPLOYMENT_MESSAGE_CHARS_MAX}), Type.Null()]),
  dryRun: Type.Boolean(),
  development: Type.Optional(Type.Boolean()),
});

/** GET …/deployments/{deployment_id}/files/{file_path} */
export const DeploymentFileQuery = Type.Object(
  {
    kind: Type.Optional(
      Type.Enum(['source', 'bundle'], {description: 'absent: the source of this path, or else the file of the bundle'}),
    ),
  },
  {additionalProperties: false},
);
