/**
 * The requests of `endpoint-message.ts`, and their check. Only the cluster process loads this: a worker sends requests and
 * checks none.
 */
import Type, {type Static} from 'typebox';
import {Compile} from 'typebox/compile';
import {NOTE_BYTES_MAX} from '../limits.ts';

const Sequence = Type.Integer({minimum: 0, maximum: Number.MAX_SAFE_INTEGER});
const Count = Type.Integer({minimum: 1, maximum: Number.MAX_SAFE_INTEGER});
const Kind = Type.Union([Type.Literal('open'), Type.Literal('commit'), Type.Literal('migrate'), Type.Literal('close')]);
const Position = Type.Object(
  {kind: Kind, epoch: Count, n: Count, sequence: Count, digest: Type.String({pattern: '^[0-9a-f]{64}$'})},
  {additionalProperties: false},
);
/** Of the tenant: its log, the parts of its records, its bases and the list of them. */
const SubjectName = Type.String({minLength: 1, maxLength: 256});

const Sha512 = Type.String({pattern: '^[0-9a-f]{128}$'});

const LogRequest = Type.Union([
  /** The body is the message. `expected` null: any. Answered by `published`. */
  Type.Object(
    {does: Type.Literal('publish'), subject: SubjectName, expected: Type.Union([Type.Null(), Sequence])},
    {additionalProperties: false},
  ),
  /** Answered by `messages` with one message or none. */
  Type.Object({does: Type.Literal('next'), subject: SubjectName, sequence: Sequence}, {additionalProperties: false}),
  Type.Object({does: Type.Literal('last'), subject: SubjectName}, {additionalProperties: false}),
  /** Answered by `messages` with as many as fit into one answer: none, if there are none. */
  Type.Object(
    {does: Type.Literal('messages'), subject: SubjectName, from: Sequence, to: Sequence},
    {additionalProperties: false},
  ),
  /** Answered by `done` when the former owner serves no reads. */
  Type.Object(
    {
      does: Type.Literal('await_owner'),
      openedBy: Type.Union([Type.Null(), Type.String({maxLength: NOTE_BYTES_MAX})]),
      tail: Position,
    },
    {additionalProperties: false},
  ),
  /** The file is at its log and the log is open for the worker, or it will not be. Answered by `done`. */
  Type.Object({does: Type.Literal('opened'), position: Position}, {additionalProperties: false}),
  Type.Object({does: Type.Literal('superseded'), epoch: Count}, {additionalProperties: false}),
  Type.Object({does: Type.Literal('full')}, {additionalProperties: false}),
  /** The log ends before the file. The worker ends, and the file gives back what the log has lost. Answered by `done`. */
  Type.Object({does: Type.Literal('behind')}, {additionalProperties: false}),
  /** Answered by `packages`: those of the tenant in the store of the cluster. */
  Type.Object({does: Type.Literal('packages')}, {additionalProperties: false}),
  /** The tarball in the tenant's directory. Answered by `package`. @property replaces the one that is damaged in the store */
  Type.Object(
    {does: Type.Literal('store_package'), sha512: Sha512, replaces: Type.Boolean()},
    {additionalProperties: false},
  ),
  /** The body has their digests. Answered by `package`. */
  Type.Object({does: Type.Literal('drop_packages')}, {additionalProperties: false}),
]);
export type LogRequest = Static<typeof LogRequest>;
/** Each append passes this check, so it is compiled. */
const compiled = Compile(LogRequest);
export type WirePosition = Static<typeof Position>;

/** Null: it is no request. A worker runs code of its tenant, so what it sends is outside input. */
export function logRequestIn(text: string): LogRequest | null {
  try {
    const request: unknown = JSON.parse(text);
    return compiled.Check(request) ? request : null;
  } catch {
    return null;
  }
}
