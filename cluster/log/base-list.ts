/** The bases of a tenant, as a small record has them: JSON, checked when it is read. */
import Type, {type Static} from 'typebox';
import type {LogPosition} from './record.ts';
import {decodeStored} from './stored-json.ts';

export type BaseInfo = {
  readonly id: string;
  /** Of the newest record that it contains. */
  readonly position: LogPosition;
  /** Note of the newest `open` up to there. */
  readonly openedBy: string;
  readonly bytes: number;
  readonly sha256: Buffer;
};

export type BaseList = {
  /** Oldest first. */
  readonly bases: readonly BaseInfo[];
  /** Ids whose parts are to be removed: bases that were dropped, or that are being written. */
  readonly garbage: readonly string[];
};

const Id = Type.String({pattern: '^[0-9a-f]{32}$'});
const Sum = Type.String({pattern: '^[0-9a-f]{64}$'});
const Count = Type.Integer({minimum: 1, maximum: Number.MAX_SAFE_INTEGER});
const Stored = Type.Object(
  {
    bases: Type.Array(
      Type.Object(
        {
          id: Id,
          kind: Type.Union([
            Type.Literal('open'),
            Type.Literal('commit'),
            Type.Literal('migrate'),
            Type.Literal('close'),
          ]),
          epoch: Count,
          n: Count,
          sequence: Count,
          digest: Sum,
          openedBy: Type.String(),
          bytes: Count,
          sha256: Sum,
        },
        {additionalProperties: false},
      ),
    ),
    garbage: Type.Array(Id),
  },
  {additionalProperties: false},
);

export function encodeBaseList({bases, garbage}: BaseList): Buffer {
  const stored: Static<typeof Stored> = {
    bases: bases.map(({id, position: {kind, epoch, n, sequence, digest}, openedBy, bytes, sha256}) => ({
      ...{id, kind, epoch, n, sequence, openedBy, bytes},
      digest: digest.toString('hex'),
      sha256: sha256.toString('hex'),
    })),
    garbage: [...garbage],
  };
  return Buffer.from(JSON.stringify(stored));
}

/** @throws LogError */
export function decodeBaseList(bytes: Buffer): BaseList {
  const stored = decodeStored(Stored, bytes, 'the list of bases of a tenant');
  return {
    bases: stored.bases.map(({id, kind, epoch, n, sequence, digest, openedBy, bytes: length, sha256}) => ({
      id,
      position: {kind, epoch, n, sequence, digest: Buffer.from(digest, 'hex')},
      openedBy,
      bytes: length,
      sha256: Buffer.from(sha256, 'hex'),
    })),
    garbage: stored.garbage,
  };
}
