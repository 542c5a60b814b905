/**
 * Wire types of the answers of the process that analyses an upload (worker/runtime/analysis). It runs tenants' code, so
 * its answer is validated like any outside input.
 */
import {type Static, Type} from 'typebox';
import {NODE_VERSIONS} from '../node-version.ts';
import {FunctionEntry, Validator} from './functions.ts';

const TextOrNull = Type.Union([Type.String(), Type.Null()]);
const Digest = Type.String({pattern: '^[0-9a-f]{64}$'});
const Count = Type.Integer({minimum: 0});

const Manifest = Type.Object({
  functions: Type.Array(FunctionEntry),
  routes: Type.Union([
    Type.Array(Type.Object({method: Type.String(), path: TextOrNull, pathPrefix: TextOrNull, index: Count})),
    Type.Null(),
  ]),
  schema: Type.Union([
    Type.Object({
      tables: Type.Array(
        Type.Object({
          name: Type.String(),
          document: Validator,
          indexes: Type.Array(Type.Object({name: Type.String(), fields: Type.Array(Type.String())})),
        }),
      ),
      schemaValidation: Type.Boolean(),
    }),
    Type.Null(),
  ]),
  authProviders: Type.Array(
    Type.Union([
      Type.Object({type: Type.Literal('oidc'), domain: Type.String(), applicationID: Type.String()}),
      Type.Object({
        type: Type.Literal('customJwt'),
        issuer: Type.String(),
        jwks: Type.String(),
        algorithm: Type.Enum(['RS256', 'ES256']),
        applicationID: TextOrNull,
      }),
    ]),
  ),
});

/** The facts stored with the code, and the files to be analysed in Node. */
const UploadFacts = Type.Object({
  modifiedMs: Type.Number(),
  message: TextOrNull,
  dryRun: Type.Boolean(),
  development: Type.Boolean(),
  node: Type.Union([
    Type.Object({
      version: Type.Enum([...NODE_VERSIONS]),
      modules: Type.Array(Type.Object({path: Type.String(), hash: Type.String()})),
      files: Type.Array(Type.String()),
      packages: Type.Array(
        Type.Object({
          path: Type.String(),
          version: Type.String(),
          sha512: Type.String({pattern: '^[0-9a-f]{128}$'}),
          optional: Type.Optional(Type.Boolean()),
        }),
      ),
    }),
    Type.Null(),
  ]),
});

/** The entry of one file: its source follows, and its source map if it has one. */
const FileEntry = Type.Object({path: Type.String(), sha256: Digest, hasMap: Type.Boolean()});

export const AnalysisAnswer = Type.Union([
  Type.Object({
    ok: Type.Literal(true),
    upload: UploadFacts,
    manifest: Manifest,
    files: Type.Array(FileEntry),
  }),
  /** The members of a ServiceError. */
  Type.Object({
    ok: Type.Literal(false),
    code: Type.Literal('op.invalid_input'),
    message: Type.String(),
    detail: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
]);
export type AnalysisAnswer = Static<typeof AnalysisAnswer>;
